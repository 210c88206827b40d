"""The work queue: which jobs to look at next.

- In order: keys come out in the order in which they came in, but for those that come last.
- Once: a key added many times before it is taken comes out once.
- Alone: a key is never with two workers; one added while worked on comes out again after `done`.
- Later: a key added with a delay comes out when the delay is over; of several the earliest counts.
- Last: a key added to come last comes out when nothing else is to be done, or at every tenth turn.
- Put off: news that asks for nothing by itself waits for news that does, NEWS_SECONDS at most.
- Rested: a key that was costly to look at is not looked at again for a while because of events, so
  that a job of two thousand pods, each changing three times, does not keep small ones waiting.
  What was asked for with a delay, also of zero, is not put off.
- Crowded: it knows whether keys have had to wait just now, but for those that come last, so that
  nobody works for one job with all hands while others stand in line.

Any thread may call. There is no timer thread: a worker that waits for a key wakes when the next
delayed one is due.
"""

import heapq
import threading
from collections import OrderedDict, deque

from cachetools import TTLCache

from controller.clock import Clock
from controller.rate_limiter import RetryLimiter
from controller.store import Key
from metrics.runtime import QueueMetrics

NEWS_SECONDS = 2.0
"""As long as a change of counts may wait to be written."""
MAX_REST_SECONDS = 1.0
CROWDED_SECONDS = 1.0
"""A queue that runs dry for a moment has not seen the last of the crowd."""
CROWDED_REST_SECONDS = 0.1
"""In a crowd a key that was looked at rests so long at least: what its own writes and its pods
bring meanwhile is one pass instead of many."""
_TURNS_PER_LAST = 10
"""Keys that come last must come in the end, however much else there is."""
_IDLE_SECONDS = 60.0
"""No wait is longer: a deadline may be centuries away, and threads cannot wait for that."""
_MAX_KEYS = 100_000


class WorkQueue:
    """A queue of keys for many workers."""

    def __init__(self, clock: Clock, metrics: QueueMetrics) -> None:
        self._clock = clock
        self._metrics = metrics
        self._limiter = RetryLimiter(clock)
        self._changed = threading.Condition()
        """Its lock guards all that follows."""
        self._order: deque[Key] = deque()
        """Keys to hand out. A key is here iff it is in _dirty and not in _processing."""
        self._dirty: dict[Key, float] = {}
        """Keys that need work, and since when."""
        self._last: OrderedDict[Key, None] = OrderedDict()
        """Keys that need a look after all others. None is also in _dirty or _processing."""
        self._turns = 0
        self._processing: dict[Key, float] = {}
        """Keys that workers have, and since when."""
        self._due: dict[Key, float] = {}
        """When a delayed key is to be added. Entries of the heap that differ are out of date."""
        self._heap: list[tuple[float, Key]] = []
        self._put_off: dict[Key, float] = {}
        """When keys are due that wait for news only: any pass before sees what they wait for."""
        self._held: set[Key] = set()
        """Keys that any news wakes at once."""
        self._rests: TTLCache[Key, float] = TTLCache(
            _MAX_KEYS, MAX_REST_SECONDS, timer=clock.monotonic
        )
        """Until when a key rests."""
        self._crowded_until = 0.0
        self._is_shut_down = False
        metrics.watch(lambda: len(self._order) + len(self._last), self._ages)

    def add(self, key: Key) -> None:
        """Something about the key has changed: it needs work, once it has rested."""
        with self._changed:
            if key in self._processing:
                self._add_locked(key)
            else:
                self._add_rested_locked(key)

    def add_later(self, key: Key) -> None:
        """Something has changed that asks for nothing yet: the key's next pass is soon enough."""
        with self._changed:
            if key in self._held and key not in self._processing:
                self._add_rested_locked(key)
            elif key not in self._dirty:
                self._put_off_locked(key, NEWS_SECONDS)

    def add_last(self, key: Key) -> None:
        """The key needs a look that nobody waits for, such as an ended job at a start."""
        with self._changed:
            if key in self._processing:
                self._add_locked(key)
            elif key in self._held:
                self._add_rested_locked(key)
            elif key not in self._dirty and key not in self._last:
                self._metrics.added()
                self._last[key] = None
                self._changed.notify()

    def hold(self, key: Key, seconds: float) -> None:
        """Any news is to wake the key, which a worker has, and nothing else for so many seconds."""
        with self._changed:
            self._held.add(key)
            self._put_off_locked(key, seconds)

    def add_after(self, key: Key, seconds: float) -> None:
        """The key needs work in so many seconds, unless something wakes it before."""
        with self._changed:
            self._add_at_locked(key, self._clock.monotonic() + max(0.0, seconds))

    def retry(self, key: Key, asked_seconds: float | None = None) -> None:
        """The key failed: add it after its back-off, or when the server asked for."""
        self._metrics.retried()
        self.add_after(key, self._limiter.next_delay(key, asked_seconds))

    def forget(self, key: Key) -> None:
        """The key succeeded: its next failure counts as the first."""
        self._limiter.forget(key)

    def failures(self, key: Key) -> int:
        """How often the key has failed in a row."""
        return self._limiter.failures(key)

    def is_crowded(self) -> bool:
        """Whether keys wait, or did a moment ago, for a free worker; not those that come last."""
        with self._changed:
            return self._clock.monotonic() < self._crowded_until

    def get(self) -> Key | None:
        """The next key, waiting for one; None once the queue is shut down. Then call `done`."""
        with self._changed:
            while not self._is_shut_down:
                self._add_due_locked()
                if self._order or self._last:
                    return self._take_locked()
                self._changed.wait(self._wait_seconds_locked())
            return None

    def done(self, key: Key, rest_seconds: float = 0.0) -> None:
        """The worker is through with the key, which now rests from events."""
        with self._changed:
            now = self._clock.monotonic()
            self._metrics.worked(now - self._processing.pop(key))
            if now < self._crowded_until:
                rest_seconds = max(rest_seconds, CROWDED_REST_SECONDS)
            if rest_seconds > 0:
                self._rests[key] = now + min(rest_seconds, MAX_REST_SECONDS)
            if key in self._dirty and rest_seconds > 0:
                del self._dirty[key]
                self._add_rested_locked(key)
            elif key in self._dirty:
                self._order.append(key)
                self._changed.notify()
            if self._is_shut_down:
                self._changed.notify_all()

    def shut_down(self) -> None:
        """Hand out nothing more; every waiting worker returns."""
        with self._changed:
            self._is_shut_down = True
            self._changed.notify_all()

    def drain(self, seconds: float) -> bool:
        """After `shut_down`: wait until the workers are through; whether they are."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._processing, seconds)

    def _add_rested_locked(self, key: Key) -> None:
        rested_at = self._rests.get(key, 0.0)
        if rested_at > self._clock.monotonic():
            self._add_at_locked(key, rested_at)
        else:
            self._add_locked(key)

    def _add_at_locked(self, key: Key, due: float) -> None:
        if self._is_shut_down or self._due.get(key, due + 1) <= due:
            return
        self._due[key] = due
        heapq.heappush(self._heap, (due, key))
        if self._heap[0][0] == due:
            self._changed.notify()

    def _put_off_locked(self, key: Key, seconds: float) -> None:
        due = self._clock.monotonic() + seconds
        if self._due.get(key, due + 1) > due:
            self._put_off[key] = due
            self._add_at_locked(key, due)

    def _add_locked(self, key: Key) -> None:
        if self._is_shut_down or key in self._dirty:
            return
        if key in self._last:
            del self._last[key]
        else:
            self._metrics.added()
        self._dirty[key] = self._clock.monotonic()
        if key not in self._processing:
            self._order.append(key)
            self._changed.notify()

    def _take_locked(self) -> Key:
        key = self._pop_locked()
        now = self._clock.monotonic()
        self._processing[key] = now
        self._held.discard(key)
        due = self._put_off.pop(key, None)
        if due is not None and self._due.get(key) == due:
            del self._due[key]
        if self._order:
            self._crowded_until = now + CROWDED_SECONDS
        if self._order or self._last:
            self._changed.notify()
        return key

    def _pop_locked(self) -> Key:
        self._turns += 1
        is_turn_of_last = not self._order or self._turns % _TURNS_PER_LAST == 0
        if self._last and is_turn_of_last:
            # Its wait is not told: nobody waits with it.
            return self._last.popitem(last=False)[0]
        key = self._order.popleft()
        self._metrics.waited(self._clock.monotonic() - self._dirty.pop(key))
        return key

    def _add_due_locked(self) -> None:
        now = self._clock.monotonic()
        while self._heap and self._heap[0][0] <= now:
            due, key = heapq.heappop(self._heap)
            if self._due.get(key) == due:
                del self._due[key]
                self._add_locked(key)

    def _wait_seconds_locked(self) -> float:
        if not self._heap:
            return _IDLE_SECONDS
        return min(_IDLE_SECONDS, max(0.0, self._heap[0][0] - self._clock.monotonic()))

    def _ages(self) -> list[float]:
        with self._changed:
            now = self._clock.monotonic()
            return [now - started for started in self._processing.values()]
