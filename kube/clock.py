"""Time: the only module of the operator that reads a clock or sleeps. Others get a clock passed in.

`now` is for timestamps that others read. `monotonic` is for durations, deadlines and leases, which
a change of the wall clock must not affect. The two are never mixed. Any thread may call.
"""

import threading
import time
from datetime import UTC, datetime


class Clock:
    """The machine's clock; tests have one that they step.

    Where the kernel has it, `monotonic` also counts the time that the machine was suspended:
    a virtual machine that was paused past its lease must find the lease expired.
    """

    def __init__(self) -> None:
        self._clock_id = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

    def now(self) -> datetime:
        """The wall clock, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since some fixed moment, suspension included."""
        return time.clock_gettime(self._clock_id)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait until the event is set, or for so many seconds; whether it is set."""
        return event.wait(max(0.0, seconds))
