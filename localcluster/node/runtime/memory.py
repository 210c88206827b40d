"""Memory limits without cgroups: a container over its limit is killed, as the kernel would do.

The memory of a container is estimated: the resident memory of its processes without shared and file
pages. It is checked four times a second, while any container has a limit. Only the spawner uses
this module, because all processes of all containers are visible in its PID namespace.
"""

import contextlib
import os
import resource
from collections import defaultdict
from pathlib import Path

INTERVAL_SECONDS = 0.25
PAGE_BYTES = resource.getpagesize()


class Watchdog:
    """Enforces memory limits. Containers are named by the pid of their first process."""

    def __init__(self, isolated: bool, kill_signal: int) -> None:
        self._isolated = isolated
        self._kill_signal = kill_signal
        self._limits: dict[int, int] = {}
        self._killed: set[int] = set()
        self._next_check = 0.0

    @property
    def interval_seconds(self) -> float | None:
        """How often to check; None while no container has a limit."""
        return INTERVAL_SECONDS if self._limits else None

    def watch(self, process: int, limit_bytes: int) -> None:
        """Enforce a limit on the container with this first process."""
        self._limits[process] = limit_bytes

    def forget(self, process: int) -> bool:
        """Remove an ended container; True if it was killed for its memory."""
        self._limits.pop(process, None)
        killed = process in self._killed
        self._killed.discard(process)
        return killed

    def check(self, now: float) -> None:
        """Kill the containers that are over their limit, if a check is due at `now`."""
        if not self._limits or now < self._next_check:
            return
        self._next_check = now + INTERVAL_SECONDS
        used = self._used()
        for process, limit in self._limits.items():
            if used[self._container_of(str(process))] > limit:
                self._killed.add(process)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, self._kill_signal)

    def _used(self) -> dict[str, int]:
        used: dict[str, int] = defaultdict(int)
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                _, resident, shared = (process / "statm").read_text().split()[:3]
                pages = int(resident) - int(shared)
                used[self._container_of(process.name)] += pages * PAGE_BYTES
        return used

    def _container_of(self, process: str) -> str:
        """A value that identifies the container of a process; "" if it is not found."""
        if self._isolated:
            return _namespace(process)
        while process and int(process) not in self._limits:
            process = _parent(process)
        return process


def _namespace(process: str) -> str:
    try:
        return os.readlink(f"/proc/{process}/ns/pid")  # noqa: PTH115 - no path, but a name
    except OSError:
        return ""


def _parent(process: str) -> str:
    """The parent's pid; empty if the process has ended or has no parent."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[1].removeprefix("0")
