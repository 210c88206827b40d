"""A clock that runs slower on a busy machine, so that a bound means the same anywhere."""

import time

SPIN_SECONDS = 0.25
CALM = 1.2
WAIT_SECONDS = 30.0


class Stopwatch:
    """Seconds from when the machine is calm; where others keep it busy, as it would take alone.

    How busy it is, is measured before: later it is busy with what is timed.
    """

    def __init__(self) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while (found := measure()) > CALM and time.monotonic() < deadline:
            time.sleep(SPIN_SECONDS)
        self.slowdown = found if found > CALM else 1.0
        self._began = time.monotonic()

    def seconds(self) -> float:
        """Since the start."""
        return (time.monotonic() - self._began) / self.slowdown


def measure() -> float:
    """Wall time for each second of CPU time that a busy thread is given."""
    began, spent = time.monotonic(), time.thread_time()
    while time.thread_time() - spent < SPIN_SECONDS:
        pass
    return max(1.0, (time.monotonic() - began) / SPIN_SECONDS)
