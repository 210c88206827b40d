"""Which nodes' logs are not read for a while, because their kubelet has not answered.

The pause is longer each time. Any thread may call.
"""

import threading

from cachetools import TTLCache

from kube.clock import Clock

NODE_REST_SECONDS = 60.0
"""The first pause of a node; doubled each time."""
MAX_NODE_REST_SECONDS = 600.0
TRY_SECONDS = 15.0
"""After a node's pause, one read tries it; the others wait this long for the result."""
_MAX_NODES = 10_000


class NodeRests:
    """The nodes that have not answered. One that nobody asks for any more is forgotten."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        """Guards the table below."""
        self._nodes: TTLCache[str, tuple[int, float]] = TTLCache(
            _MAX_NODES, 2 * MAX_NODE_REST_SECONDS, timer=clock.monotonic
        )
        """How often in a row each node has not answered, and when its pause ends."""

    def seconds(self, node: str) -> float:
        """Seconds until a log of this node is read again, as a trial; 0 if the node answers."""
        with self._lock:
            failures, until = self._nodes.get(node, (0, 0.0))
            now = self._clock.monotonic()
            if failures and until <= now:
                self._nodes[node] = failures, now + TRY_SECONDS
            return max(0.0, until - now)

    def note(self, node: str, has_answered: bool) -> None:
        """Note whether the node has answered; if not, its logs are not read for a while."""
        with self._lock:
            failures, _ = self._nodes.pop(node, (0, 0.0))
            if not has_answered:
                rest = min(MAX_NODE_REST_SECONDS, NODE_REST_SECONDS * 2.0 ** min(failures, 10))
                self._nodes[node] = failures + 1, self._clock.monotonic() + rest
