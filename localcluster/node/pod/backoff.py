"""The delay before a container is restarted or an image is pulled again. Pure.

The delay doubles from `base_seconds` to five minutes; after a run of ten minutes it starts again.
"""

MAX_SECONDS = 300.0
FORGET_SECONDS = 600.0


class RestartBackoff:
    """The delays of one container. With `first_is_free`, the first retry is immediate."""

    def __init__(self, base_seconds: float, first_is_free: bool) -> None:
        self._base = base_seconds
        self._first = 0.0 if first_is_free else base_seconds
        self._next = self._first
        self._until = 0.0
        self.seconds = 0.0

    def failed(self, now: float, ran_seconds: float = 0.0) -> None:
        """Start the next delay at `now`, after a failed pull or a run of this length."""
        if ran_seconds >= FORGET_SECONDS:
            self._next = self._first
        self.seconds = self._next
        self._until = now + self.seconds
        self._next = min(max(self.seconds * 2, self._base), MAX_SECONDS)

    def left_seconds(self, now: float) -> float:
        """The rest of the current delay in seconds; 0 when the delay is over."""
        return max(0.0, self._until - now)


def go_duration(seconds: float) -> str:
    """A duration in Go's format: 10s, 1m20s, 5m0s."""
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes)}m{rest:g}s" if minutes else f"{rest:g}s"
