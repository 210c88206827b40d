"""The work queue: the jobs that need a pass.

Thread-safe. There is no timer thread: a worker that waits for a key wakes when the next delayed or
resting key is due.
"""

import heapq
import threading
from collections import OrderedDict
from dataclasses import dataclass

from cachetools import TTLCache

from api.ownership import Key
from controller.workqueue.rate_limiter import RECONNECT_SECONDS, RETRY_MAX_SECONDS, RetryLimiter
from controller.workqueue.turns import Turns
from kube.clock import Clock
from metrics.runtime import QueueMetrics

MAX_REST_SECONDS = 1.0
BACKLOG_SECONDS = 0.1
"""If a key has waited this long for a worker, its namespace is backlogged."""
BACKLOG_LASTS_SECONDS = 1.0
"""A namespace stays backlogged this long: its next keys are perhaps not in the queue yet."""
_IDLE_SECONDS = 60.0
"""No wait is longer: a deadline can be centuries away, and threads cannot wait for that."""
_MAX_NAMESPACES = 10_000
_FEW_TIMERS = 100
"""Fewer outdated entries than this are not worth a search."""


@dataclass(frozen=True, slots=True)
class Filing:
    """When a key is added again after a pass, and how metrics count the pass (`outcome`).

    `after_seconds`: the key is added again after this delay at the latest. `rest_seconds`: for how
    long the key cannot be taken again; None: the worker computes it from the length of the pass.
    `is_settled`: the pass has seen everything, so earlier delays and failures no longer count.
    `is_failed`: the key is added again after its back-off, or after the `asked_seconds` of the API
    server. `is_away`: the API server did not answer, so the back-off stays short.
    """

    outcome: str = "success"
    after_seconds: float | None = None
    rest_seconds: float | None = 0.0
    is_settled: bool = False
    is_failed: bool = False
    asked_seconds: float | None = None
    is_away: bool = False


class WorkQueue:
    """Keys for many workers. It promises:

    1. Alone: a key is with one worker at a time.
    2. Again: a key added while it is worked on comes out once more.
    3. Once: a key added many times before it is taken comes out once.
    4. Later: a key added for later, or after an error, waits, and its earliest time counts.
    5. Fair: namespaces take turns, one key a turn. After its pass a key rests, that is, no worker
       gets it for a while. So neither a tenant nor a job takes all workers. While `shared` workers
       are busy, further ones get only keys of namespaces that have no worker, because long passes
       must delay only their own namespace.

    Every added key comes out eventually, until the queue is shut down. Before `open`, the queue
    ignores keys, so the caller of `open` must then add every job.
    """

    def __init__(self, clock: Clock, metrics: QueueMetrics, shared: int) -> None:
        self._shared = shared
        self._clock = clock
        self._metrics = metrics
        self._limiter = RetryLimiter(clock)
        self._changed = threading.Condition()
        """Its lock guards all fields below."""
        self._turns: Turns[Key] = Turns()
        self._waiting: dict[Key, float] = {}
        """The keys in _turns, and since when they wait for a worker."""
        self._working: dict[Key, float] = {}
        """The keys that workers handle, and since when. None of them is in _waiting."""
        self._again: set[Key] = set()
        """Keys that were added while a worker had them."""
        self._resting: OrderedDict[Key, float] = OrderedDict()
        """The end of each key's rest. Expired ones are removed when another key begins to rest."""
        self._rested: dict[Key, float] = {}
        """Keys that were added during their rest, and when it ends."""
        self._due: dict[Key, float] = {}
        """When a key is to be added."""
        self._timers: list[tuple[float, Key]] = []
        """A heap of the times in _due and _rested. An entry that is in neither is outdated; when
        most are, they are removed, because each pass of a job with a deadline leaves one behind.
        """
        self._timekeeper: object | None = None
        """The mark of the worker that sleeps until the next timer, like the leader in Java's
        DelayQueue. If it is None, the next idle worker sets its mark.
        """
        self._backlogged: TTLCache[str, bool] = TTLCache(
            _MAX_NAMESPACES, BACKLOG_LASTS_SECONDS, timer=clock.monotonic
        )
        """Namespaces with a key that had waited long when a worker got it. If a namespace has used
        up its share of the workers, only it is backlogged.
        """
        self._early: set[Key] = set()
        """Keys whose last failed pass asked for a time before the end of the back-off."""
        self._is_open = False
        metrics.watch(lambda: len(self._waiting), self._ages)

    def open(self) -> None:
        """Accept keys from now on. A standby's queue stays closed, so that it takes no memory."""
        with self._changed:
            self._is_open = True

    def add(self, key: Key) -> None:
        """Add a key that needs work; if it rests, it waits until the rest is over."""
        with self._changed:
            self._add_locked(key)

    def add_after(self, key: Key, seconds: float) -> None:
        """Add the key after these seconds, also if `add` adds it before. The least delay counts."""
        with self._changed:
            if seconds <= 0:
                self._add_locked(key)
                return
            due = self._clock.monotonic() + seconds
            if self._is_open and self._due.get(key, due + 1) > due:
                self._due[key] = due
                self._set_timer_locked(due, key)

    def retry(
        self, key: Key, asked_seconds: float | None = None, *, is_away: bool = False
    ) -> float:
        """Count a failure; add the key after its back-off or `asked_seconds`; returns the delay."""
        self._metrics.retried()
        most = RECONNECT_SECONDS if is_away else RETRY_MAX_SECONDS
        delay = self._limiter.next_delay(key, asked_seconds, most)
        self.add_after(key, delay)
        return delay

    def forget(self, key: Key) -> None:
        """Forget the key's failures and its delay, after a pass that has seen everything."""
        self._limiter.forget(key)
        with self._changed:
            self._early.discard(key)
            self._due.pop(key, None)

    def is_backlogged(self, namespace: str) -> bool:
        """Whether a key of this namespace has lately waited BACKLOG_SECONDS for a worker."""
        with self._changed:
            return namespace in self._backlogged

    def get(self) -> Key | None:
        """Wait for the next key, to give back by `done` or `file`; None if the queue is closed."""
        with self._changed:
            while self._is_open:
                self._take_due_locked()
                namespace = self._next_turn_locked()
                if namespace is not None:
                    return self._take_locked(namespace)
                self._wait_locked()
            return None

    def done(self, key: Key, rest_seconds: float = 0.0) -> None:
        """Return a key that the worker has finished. It rests, for MAX_REST_SECONDS at most."""
        with self._changed:
            now = self._clock.monotonic()
            self._metrics.worked(now - self._working.pop(key))
            if rest_seconds > 0:
                self._rest_locked(key, now, min(rest_seconds, MAX_REST_SECONDS))
            if key in self._again:
                self._again.remove(key)
                self._line_up_locked(key)
            if not self._is_open:
                self._changed.notify_all()

    def file(self, key: Key, filing: Filing) -> None:
        """Return a key that the worker has finished, and add it again as the filing says."""
        if filing.is_settled:
            self.forget(key)
        after = filing.after_seconds
        if filing.is_failed:
            delay = self.retry(key, filing.asked_seconds, is_away=filing.is_away)
            # A deadline comes once. What each pass asks for anew must not undo the back-off.
            if key in self._early:
                self._early.discard(key)
                after = None
            elif after is not None and after < delay:
                self._early.add(key)
        if after is not None:
            self.add_after(key, after)
        self.done(key, filing.rest_seconds or 0.0)

    def shut_down(self) -> None:
        """Close the queue: `get` returns None, at once in every waiting worker."""
        with self._changed:
            self._is_open = False
            self._changed.notify_all()

    def drain(self, seconds: float) -> bool:
        """After `shut_down`, wait until all keys are returned; False if `seconds` are too few."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._working, seconds)

    def _add_locked(self, key: Key) -> None:
        is_added = key in self._waiting or key in self._again or key in self._rested
        if is_added or not self._is_open:
            return
        self._metrics.added()
        if key in self._working:
            self._again.add(key)
        else:
            self._line_up_locked(key)

    def _rest_locked(self, key: Key, now: float, seconds: float) -> None:
        while self._resting and next(iter(self._resting.values())) <= now:
            self._resting.popitem(last=False)
        self._resting[key] = now + seconds

    def _line_up_locked(self, key: Key) -> None:
        """Let the key wait for a worker, now or from the end of its rest."""
        now, rests_until = self._clock.monotonic(), self._resting.get(key, 0.0)
        if rests_until > now:
            self._rested[key] = rests_until
            self._set_timer_locked(rests_until, key)
            return
        self._waiting[key] = now
        self._turns.add(key.namespace, key)
        if self._next_turn_locked() is not None:
            self._changed.notify()

    def _next_turn_locked(self) -> str | None:
        """The next namespace that can have another worker; None if there is none."""
        is_scarce = len(self._working) >= self._shared
        busy = {key.namespace for key in self._working} if is_scarce else set()
        return next((namespace for namespace in self._turns if namespace not in busy), None)

    def _take_locked(self, namespace: str) -> Key:
        key = self._turns.take(namespace)
        now = self._clock.monotonic()
        waited_seconds = now - self._waiting.pop(key)
        self._metrics.waited(waited_seconds)
        if waited_seconds >= BACKLOG_SECONDS:
            self._backlogged[namespace] = True
        self._working[key] = now
        self._resting.pop(key, None)
        if self._timekeeper is None or self._next_turn_locked() is not None:
            self._changed.notify()
        return key

    def _set_timer_locked(self, at: float, key: Key) -> None:
        if len(self._timers) > _FEW_TIMERS + 2 * (len(self._due) + len(self._rested)):
            times = (*self._due.items(), *self._rested.items())
            self._timers = sorted((until, other) for other, until in times)
        heapq.heappush(self._timers, (at, key))
        if self._timers[0] == (at, key):
            self._timekeeper = None  # the worker with the mark would wake too late
            self._changed.notify()

    def _take_due_locked(self) -> None:
        now = self._clock.monotonic()
        while self._timers and self._timers[0][0] <= now:
            at, key = heapq.heappop(self._timers)
            if self._rested.get(key) == at:
                del self._rested[key]
                self._line_up_locked(key)
            if self._due.get(key) == at:
                del self._due[key]
                self._add_locked(key)

    def _wait_locked(self) -> None:
        """Wait for a key; only one worker wakes for the next timer."""
        if self._timekeeper is not None:
            self._changed.wait(_IDLE_SECONDS)
            return
        me = self._timekeeper = object()
        self._changed.wait(self._idle_seconds_locked())
        if self._timekeeper is me:
            self._timekeeper = None

    def _idle_seconds_locked(self) -> float:
        if not self._timers:
            return _IDLE_SECONDS
        return min(_IDLE_SECONDS, max(0.0, self._timers[0][0] - self._clock.monotonic()))

    def _ages(self) -> list[float]:
        with self._changed:
            now = self._clock.monotonic()
            return [now - started for started in self._working.values()]
