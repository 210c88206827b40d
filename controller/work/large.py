"""Keeps passes over large jobs from filling the memory.

A spec of a megabyte may hold half a million objects, which take thirty times as much while a pass
looks at them. So of the large jobs of a namespace only one is looked at at a time. Any worker may
call.
"""

import threading

from api.ownership import Key

LARGE_BYTES = 128 << 10
"""As the store packs a job; a usual one takes a few thousand."""
LARGE_WAIT_SECONDS = 1.0
"""So long a large job waits, without a worker, while another one of its namespace has its pass."""


class LargePasses:
    """The large jobs that have their pass now, one a namespace."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        """Guards the table."""
        self._jobs: dict[str, Key] = {}
        """By namespace."""

    def enter(self, job: Key, size: int) -> bool:
        """Whether a pass over a job of so many bytes may begin; then `leave` follows."""
        if size <= LARGE_BYTES:
            return True
        with self._lock:
            return self._jobs.setdefault(job.namespace, job) == job

    def leave(self, job: Key) -> None:
        """The pass is over."""
        with self._lock:
            if self._jobs.get(job.namespace) == job:
                del self._jobs[job.namespace]
