"""How long to wait before trying again, and how often something may happen at most.

Pure arithmetic on a clock that is passed in: nothing here sleeps.
"""

import random
import threading
from collections.abc import Hashable

from controller.clock import Clock

RETRY_FIRST_SECONDS = 0.005
RETRY_MAX_SECONDS = 300.0
RETRY_RATE = 10.0
RETRY_BURST = 100


class TokenBucket:
    """Allows `rate` events per second on average and `burst` at once. Any thread may call."""

    def __init__(self, rate: float, burst: int, clock: Clock) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._lock = threading.Lock()
        """Guards the two below."""
        self._tokens = float(burst)
        self._filled_at = clock.monotonic()

    def reserve(self) -> float:
        """Take a token, if need be one that is still to come; the seconds until it is there."""
        with self._lock:
            self._fill_locked()
            self._tokens -= 1
            return max(0.0, -self._tokens / self._rate)

    def try_take(self) -> bool:
        """Take a token if one is there."""
        with self._lock:
            self._fill_locked()
            if self._tokens < 1:
                return False
            self._tokens -= 1
            return True

    def _fill_locked(self) -> None:
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._rate)
        self._filled_at = now


class RetryLimiter:
    """The delay of a key's next try: doubling per failure, and bounded over all keys."""

    def __init__(self, clock: Clock) -> None:
        self._bucket = TokenBucket(RETRY_RATE, RETRY_BURST, clock)
        self._lock = threading.Lock()
        """Guards _failures."""
        self._failures: dict[Hashable, int] = {}

    def next_delay(self, key: Hashable, asked_seconds: float | None = None) -> float:
        """Count a failure of the key; the seconds to wait.

        `asked_seconds` is what the server asked for. It replaces the doubled delay, but not the
        bound over all keys.
        """
        with self._lock:
            failures = self._failures.get(key, 0)
            self._failures[key] = failures + 1
        # The exponent is bounded, or a key that fails for weeks would overflow a float.
        doubled = RETRY_FIRST_SECONDS * 2.0 ** min(failures, 30)
        wanted = doubled if asked_seconds is None else asked_seconds
        return max(min(RETRY_MAX_SECONDS, wanted), self._bucket.reserve())

    def forget(self, key: Hashable) -> None:
        """The key succeeded: its next failure is the first."""
        with self._lock:
            self._failures.pop(key, None)

    def failures(self, key: Hashable) -> int:
        """Failures in a row."""
        with self._lock:
            return self._failures.get(key, 0)


class Backoff:
    """The pauses of one loop that keeps failing, with the figures of client-go's reflector.

    They double from 0.8 s to 30 s. Each is stretched at random by up to as much again, so that many
    clients do not come back at the same time. After two minutes without a failure they start over.
    For one thread.
    """

    def __init__(self, clock: Clock, first: float = 0.8, most: float = 30.0) -> None:
        self._clock = clock
        self._first = first
        self._most = most
        self._reset_after_seconds = 120.0
        self._next = first
        self._last_at = clock.monotonic()

    def next_delay(self) -> float:
        """The seconds to wait after one more failure."""
        now = self._clock.monotonic()
        if now - self._last_at > self._reset_after_seconds:
            self._next = self._first
        self._last_at = now
        delay, self._next = self._next, min(self._most, self._next * 2)
        return delay * (1 + random.random())
