"""Limits how often something happens, and says how long a key that failed waits.

Nothing here sleeps: the methods return how long the caller has to wait.
"""

import threading
from collections import Counter

from cachetools import LRUCache

from api.ownership import Key
from kube.clock import Clock

RETRY_FIRST_SECONDS = 0.005
RETRY_USUAL_SECONDS = 30.0
RETRY_MAX_SECONDS = 300.0
"""The longest delay, for keys of a namespace in which thousands fail."""
RECONNECT_SECONDS = 3.0
"""The longest delay while the API server does not answer: jobs continue soon after it does."""
RETRY_RATE = 10.0
RETRY_BURST = 100
MAX_DEBT_SECONDS = 1.0
"""The longest delay that the token bucket of a namespace demands."""
_MAX_NAMESPACES = 10_000


class TokenBucket:
    """Allows `rate` events per second on average and `burst` at once. Thread-safe."""

    def __init__(self, rate: float, burst: int, clock: Clock) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._lock = threading.Lock()
        """Guards the two below."""
        self._tokens = float(burst)
        self._filled_at = clock.monotonic()

    def reserve(self, most_seconds: float = float("inf")) -> float:
        """Take a token, or a future one; returns the seconds until then, at most `most_seconds`."""
        with self._lock:
            self._fill_locked()
            self._tokens = max(self._tokens - 1, -most_seconds * self._rate)
            return max(0.0, -self._tokens / self._rate)

    def try_take(self) -> bool:
        """Take a token; returns False if none is there."""
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


class Batches:
    """Allows `size` events at once, and as many again after `seconds`. Thread-safe.

    Events in a row take less CPU than events with pauses between them.
    """

    def __init__(self, size: int, seconds: float, clock: Clock) -> None:
        self._size = size
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        """Guards the two below."""
        self._begins_at = float("-inf")
        """When the newest batch begins in which a place is taken."""
        self._taken = 0

    def reserve(self) -> float:
        """Take a place in the first batch that has one; returns the seconds until it begins."""
        with self._lock:
            now, next_at = self._clock.monotonic(), self._begins_at + self._seconds
            if now >= next_at or self._taken == self._size:
                self._begins_at, self._taken = max(now, next_at), 0
            self._taken += 1
            return max(0.0, self._begins_at - now)


class RetryLimiter:
    """The delay before a key's retry: it doubles, and each namespace has a rate limit."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        """Guards both tables."""
        self._buckets: LRUCache[str, TokenBucket] = LRUCache(_MAX_NAMESPACES)
        self._failures: dict[Key, int] = {}
        """How often a key has failed in a row."""
        self._failing: Counter[str] = Counter()
        """How many keys of a namespace are in _failures."""

    def next_delay(
        self, key: Key, asked_seconds: float | None = None, most_seconds: float = RETRY_MAX_SECONDS
    ) -> float:
        """Count a failure of the key; returns the seconds to wait.

        The delay doubles up to 30 s. If more than 300 keys of the namespace fail, this limit rises,
        so that about ten keys a second are tried. `asked_seconds`, which the server asked for,
        replaces the doubled delay, up to 30 s, because a person waits. No delay is longer than
        `most_seconds`, unless the namespace's token bucket demands a longer one.
        """
        with self._lock:
            failures = self._failures.get(key, 0)
            self._failures[key] = failures + 1
            self._failing[key.namespace] += failures == 0
            new = TokenBucket(RETRY_RATE, RETRY_BURST, self._clock)
            bucket = self._buckets.setdefault(key.namespace, new)
            longest = max(RETRY_USUAL_SECONDS, self._failing[key.namespace] / RETRY_RATE)
        # The exponent is bounded, or a key that fails for weeks would overflow a float.
        doubled = min(longest, RETRY_FIRST_SECONDS * 2.0 ** min(failures, 30))
        wanted = doubled if asked_seconds is None else min(asked_seconds, RETRY_USUAL_SECONDS)
        return max(min(most_seconds, wanted), bucket.reserve(MAX_DEBT_SECONDS))

    def forget(self, key: Key) -> None:
        """Note that the key succeeded, so that its next failure counts as the first."""
        with self._lock:
            if self._failures.pop(key, None) is None:
                return
            self._failing[key.namespace] -= 1
            if not self._failing[key.namespace]:
                del self._failing[key.namespace]
