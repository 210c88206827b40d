"""Decides whose log is read next: namespaces take turns, and a job's log rests between two reads.

If a node's kubelet does not answer, no log of that node is read for a while, longer each time. Any
thread may call.
"""

import threading
from collections.abc import Set
from dataclasses import dataclass

from api.ownership import Key
from controller.workqueue.turns import Turns
from kube.clock import Clock

PERIOD_SECONDS = 30.0
"""The least time between two reads of one log."""
NODE_REST_SECONDS = 60.0
"""The pause of a node that has not answered; doubled each time."""
MAX_NODE_REST_SECONDS = 600.0
TRY_SECONDS = 15.0
"""After a node's pause, one read tries it; the others wait this long for the result."""


@dataclass(slots=True)
class _Node:
    """A node that has not answered, with the number of times in a row."""

    failures: int = 0
    rests_until: float = 0.0


class LogTurns:
    """The running jobs, and when each is due. A taken job belongs to one thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        """Guards all that follows."""
        self._due: dict[Key, float] = {}
        """When the log of each running job may be read."""
        self._turns: Turns[Key] = Turns()
        self._out: set[Key] = set()
        """The jobs in _turns, and those that threads have taken."""
        self._nodes: dict[str, _Node] = {}
        self._paused_until = 0.0

    def update(self, running: Set[Key]) -> None:
        """Update the set of running jobs; those that are due are queued."""
        with self._lock:
            now = self._clock.monotonic()
            self._due = {key: self._due.get(key, now) for key in running}
            self._nodes = {
                name: node
                for name, node in self._nodes.items()
                if now - node.rests_until < MAX_NODE_REST_SECONDS
            }
            for key, due in self._due.items():
                if due <= now and key not in self._out:
                    self._out.add(key)
                    self._turns.add(key.namespace, key)

    def take(self) -> Key | None:
        """The next job, if one is due. Call `put_back` when it was read."""
        with self._lock:
            while self._turns and self._clock.monotonic() >= self._paused_until:
                key = self._turns.take(next(iter(self._turns)))
                if key in self._due:
                    return key
                self._out.discard(key)  # it runs no more
            return None

    def put_back(self, key: Key, seconds: float = PERIOD_SECONDS) -> None:
        """Make the job due again after this many seconds."""
        with self._lock:
            self._out.discard(key)
            if key in self._due:
                self._due[key] = self._clock.monotonic() + seconds

    def pause(self, seconds: float) -> None:
        """Pause all reads for this long: the API server is busy or away."""
        with self._lock:
            self._paused_until = max(self._paused_until, self._clock.monotonic() + seconds)

    def rest_of(self, node: str) -> float:
        """Seconds until a log of this node is read again, as a trial; 0 if the node answers."""
        with self._lock:
            found, now = self._nodes.get(node), self._clock.monotonic()
            if found is None:
                return 0.0
            if found.rests_until > now:
                return found.rests_until - now
            found.rests_until = now + TRY_SECONDS
            return 0.0

    def note_node(self, node: str, has_answered: bool) -> None:
        """The node has answered, or has not in time; then its logs are not read for a while."""
        with self._lock:
            if has_answered:
                self._nodes.pop(node, None)
                return
            found = self._nodes.setdefault(node, _Node())
            rest = NODE_REST_SECONDS * 2.0 ** min(found.failures, 10)
            found.failures += 1
            found.rests_until = self._clock.monotonic() + min(MAX_NODE_REST_SECONDS, rest)
