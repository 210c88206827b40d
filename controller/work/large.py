"""Keeps passes over large jobs from filling the memory.

A spec of a megabyte may hold half a million objects, which take thirty times as much while a pass
looks at them. So of the large jobs of a namespace only one is looked at at a time. Any worker may
call.
"""

import threading

LARGE_BYTES = 128 << 10
"""As the store packs a job; a usual one takes a few thousand."""
LARGE_WAIT_SECONDS = 1.0
"""So long a large job waits, without a worker, while another one of its namespace has its pass."""


class LargePasses:
    """The namespaces in which a large job has its pass now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        """Guards the set."""
        self._namespaces: set[str] = set()

    def enter(self, namespace: str) -> bool:
        """Whether a pass may begin; it is to `leave` then."""
        with self._lock:
            is_free = namespace not in self._namespaces
            self._namespaces.add(namespace)
            return is_free

    def leave(self, namespace: str) -> None:
        """The pass is over."""
        with self._lock:
            self._namespaces.remove(namespace)
