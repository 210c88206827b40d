"""Pauses the reads of logs from nodes whose kubelet does not answer. Thread-safe.

The first pause is short. With each further failure in a row, the pause doubles.
"""

import threading

from cachetools import TTLCache

from kube.clock import Clock

FIRST_REST_SECONDS = 5.0
"""The pause after one failure, as perhaps only a request was lost."""
NODE_REST_SECONDS = 60.0
"""The pause after the second failure in a row."""
MAX_NODE_REST_SECONDS = 600.0
TRY_SECONDS = 15.0
"""After a node's pause, one read tries the node; other reads wait this long for the result."""
_MAX_NODES = 10_000


class NodeRests:
    """The nodes that have not answered. A node without reads is forgotten after a while."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        """Guards the table below."""
        self._nodes: TTLCache[str, tuple[int, float]] = TTLCache(
            _MAX_NODES, 2 * MAX_NODE_REST_SECONDS, timer=clock.monotonic
        )
        """How often in a row each node has not answered, and when its pause ends."""

    def seconds(self, node: str) -> float:
        """Seconds until the next try to read a log of this node; 0 if the caller is to read now.

        After a pause, only the first caller gets 0; the others wait TRY_SECONDS for its result.
        """
        with self._lock:
            failures, until = self._nodes.get(node, (0, 0.0))
            now = self._clock.monotonic()
            if failures and until <= now:
                self._nodes[node] = failures, now + TRY_SECONDS
            return max(0.0, until - now)

    def note(self, node: str, has_answered: bool) -> float:
        """Note whether the node has answered a read; if not, a pause of so many seconds begins."""
        with self._lock:
            failures, _ = self._nodes.pop(node, (0, 0.0))
            if has_answered:
                return 0.0
            rest = FIRST_REST_SECONDS
            if failures:
                later = NODE_REST_SECONDS * 2.0 ** min(failures - 1, 10)
                rest = min(MAX_NODE_REST_SECONDS, later)
            self._nodes[node] = failures + 1, self._clock.monotonic() + rest
            return rest
