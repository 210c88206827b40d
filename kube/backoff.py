"""How long a loop that keeps failing waits before it tries again. Nothing here sleeps."""

import random
import threading

from kube.clock import Clock

RESET_SECONDS = 120.0
"""After this long without a failure, the pauses start with the shortest again."""


class Backoff:
    """Pauses that double from the first to the longest while something keeps failing.

    Random jitter adds up to 100 %, so that many clients do not retry at the same time. Thread-safe:
    loops that share one pause together.
    """

    def __init__(self, clock: Clock, first_seconds: float, most_seconds: float) -> None:
        self._clock = clock
        self._first = first_seconds
        self._most = most_seconds
        self._lock = threading.Lock()
        """Guards all that follows."""
        self._next = first_seconds
        self._last_at = clock.monotonic()

    def reset(self) -> None:
        """Start with the shortest pause again."""
        with self._lock:
            self._next = self._first

    def next_delay(self) -> float:
        """The seconds to wait after one more failure."""
        now = self._clock.monotonic()
        with self._lock:
            if now - self._last_at > RESET_SECONDS:
                self._next = self._first
            self._last_at = now
            delay, self._next = self._next, min(self._most, self._next * 2)
        return delay * (1 + random.random())
