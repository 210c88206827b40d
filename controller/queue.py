"""The work queue: which jobs to look at next.

- In order: keys come out in the order in which they came in.
- Once: a key added many times before it is taken comes out once.
- Alone: a key is never with two workers; one added while worked on comes out again after `done`.
- Later: a key added with a delay comes out when the delay is over; of several the earliest counts.

Any thread may call. There is no timer thread: a worker that waits for a key wakes when the next
delayed one is due.
"""

import heapq
import threading
from collections import deque

from controller.clock import Clock
from controller.rate_limiter import RetryLimiter
from controller.store import Key
from metrics.runtime import QueueMetrics

_IDLE_SECONDS = 60.0


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
        self._processing: dict[Key, float] = {}
        """Keys that workers have, and since when."""
        self._due: dict[Key, float] = {}
        """When a delayed key is to be added. What the heap says otherwise is out of date."""
        self._heap: list[tuple[float, Key]] = []
        self._is_shut_down = False
        metrics.watch(lambda: len(self._order), self._ages)

    def add(self, key: Key) -> None:
        """The key needs work, as soon as possible."""
        with self._changed:
            self._add_locked(key)

    def add_after(self, key: Key, seconds: float) -> None:
        """The key needs work in so many seconds, unless something wakes it before."""
        with self._changed:
            due = self._clock.monotonic() + max(0.0, seconds)
            if self._is_shut_down or self._due.get(key, due + 1) <= due:
                return
            self._due[key] = due
            heapq.heappush(self._heap, (due, key))
            self._changed.notify()

    def retry(self, key: Key, at_least_seconds: float = 0.0) -> None:
        """The key failed: add it after its back-off."""
        self._metrics.retried()
        self.add_after(key, max(at_least_seconds, self._limiter.next_delay(key)))

    def forget(self, key: Key) -> None:
        """The key succeeded: its next failure counts as the first."""
        self._limiter.forget(key)

    def failures(self, key: Key) -> int:
        """How often the key has failed in a row."""
        return self._limiter.failures(key)

    def get(self) -> Key | None:
        """The next key, waiting for one; None once the queue is shut down. Then call `done`."""
        with self._changed:
            while not self._is_shut_down:
                self._add_due_locked()
                if self._order:
                    return self._take_locked()
                self._changed.wait(self._wait_seconds_locked())
            return None

    def done(self, key: Key) -> None:
        """The worker is through with the key."""
        with self._changed:
            started = self._processing.pop(key)
            self._metrics.worked(self._clock.monotonic() - started)
            if key in self._dirty:
                self._order.append(key)
            self._changed.notify_all() if self._is_shut_down else self._changed.notify()

    def shut_down(self) -> None:
        """Hand out nothing more; every waiting worker returns."""
        with self._changed:
            self._is_shut_down = True
            self._changed.notify_all()

    def drain(self, seconds: float) -> bool:
        """After `shut_down`: wait until the workers are through; whether they are."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._processing, seconds)

    def _add_locked(self, key: Key) -> None:
        if self._is_shut_down or key in self._dirty:
            return
        self._metrics.added()
        self._dirty[key] = self._clock.monotonic()
        if key not in self._processing:
            self._order.append(key)
            self._changed.notify()

    def _take_locked(self) -> Key:
        key = self._order.popleft()
        now = self._clock.monotonic()
        self._metrics.waited(now - self._dirty.pop(key))
        self._processing[key] = now
        if self._order:
            self._changed.notify()
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
        return max(0.0, self._heap[0][0] - self._clock.monotonic())

    def _ages(self) -> list[float]:
        with self._changed:
            now = self._clock.monotonic()
            return [now - started for started in self._processing.values()]
