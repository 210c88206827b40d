"""The one module of the local cluster that reads the clock and sleeps."""

import datetime
import time
from collections.abc import Callable

POLL_SECONDS = 0.05


now = time.time
"""Seconds since the epoch, for what is shown to people and written to the API server."""
monotonic = time.monotonic
"""Seconds on a clock that never jumps: for deadlines and measured times."""
sleep = time.sleep
"""Block the calling thread for this many seconds."""


def wait_until(
    condition: Callable[[], bool], timeout_seconds: float, poll_seconds: float = POLL_SECONDS
) -> bool:
    """Poll until the condition holds; returns False if it does not in time."""
    deadline = monotonic() + timeout_seconds
    while not condition():
        if monotonic() >= deadline:
            return False
        sleep(poll_seconds)
    return True


def utc_now() -> datetime.datetime:
    """The date and time with its zone, for the validity of certificates."""
    return datetime.datetime.now(datetime.UTC)
