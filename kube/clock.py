"""Time: the only module of the operator that reads a clock or sleeps. Others get a clock passed in.

`now` is for timestamps that others read. `monotonic` is for durations, deadlines and leases, which
a change of the wall clock must not affect. If this machine's clock differs from the API server's by
more than MAX_DIFFERENCE, `now` is the API server's time, because `now` is compared with times that
the API server or another leader has written. Thread-safe.
"""

import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

MAX_DIFFERENCE = timedelta(seconds=5)
"""If the two clocks differ by more than this, `now` returns the API server's time."""
_PROMPT_SECONDS = 1.0
"""Answers that took longer are not used to compare clocks."""
_BLUR = timedelta(seconds=2)
"""Smaller differences are ignored: `Date` has whole seconds, and an answer takes up to a second."""
_VALID_SECONDS = 60.0
"""For this long after a confirmation, only a time nearer to this machine's clock is accepted."""


class Clock:
    """The machine's clock. Tests use one that they set themselves.

    If the kernel supports it, `monotonic` includes the time that the machine was suspended: a
    machine that wakes up after its lease has expired must know it.
    """

    _compared: tuple[datetime, float] | None = None
    """The API server's time at a moment of `monotonic`."""
    _confirmed_at = 0.0
    """When an answer last confirmed `_compared`."""
    _clock_id = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

    def now(self) -> datetime:
        """The time as an aware datetime in UTC."""
        ahead = self.ahead()
        return self.wall() - (ahead if abs(ahead) > MAX_DIFFERENCE else timedelta())

    def wall(self) -> datetime:
        """This machine's wall clock."""
        return datetime.now(UTC)

    def ahead(self) -> timedelta:
        """How far this machine's clock is ahead of the API server's; zero before any answer."""
        return self._ahead_of(*self._compared) if self._compared else timedelta()

    def compare(self, date: str, asked_at: float) -> None:
        """Use the `Date` of an answer to a request that was sent at this `monotonic` time.

        A slow answer or an invalid date is ignored. If API servers differ, the time nearest to this
        machine's clock is used.
        """
        answered_at = self.monotonic()
        if answered_at - asked_at > _PROMPT_SECONDS:
            return
        with suppress(ValueError, OverflowError):
            moment = parsedate_to_datetime(date).replace(tzinfo=UTC) + timedelta(seconds=0.5)
            known, found = self.ahead(), self._ahead_of(moment, asked_at)
            is_same = self._compared is not None and abs(found - known) <= _BLUR
            is_old = answered_at - self._confirmed_at > _VALID_SECONDS
            if self._compared is None or (not is_same and (abs(found) < abs(known) or is_old)):
                self._compared, is_same = (moment, asked_at), True
            if is_same:
                self._confirmed_at = answered_at

    def _ahead_of(self, moment: datetime, at: float) -> timedelta:
        return self.wall() - moment - timedelta(seconds=self.monotonic() - at)

    def monotonic(self) -> float:
        """Seconds since some fixed moment, suspension included."""
        return time.clock_gettime(self._clock_id)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait for the event, at most this many seconds; returns whether it is set."""
        return event.wait(max(0.0, seconds))
