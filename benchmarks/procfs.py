"""What the kernel knows of a process and its children: the CPU taken and the memory held."""

import os
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_MB = 1024.0


@dataclass(frozen=True)
class Memory:
    """Resident memory in MiB, now and at most so far."""

    resident_mb: float
    peak_mb: float


def cpu_seconds(pid: int) -> float:
    """CPU taken so far by the process, its threads and its children."""
    own = _stat(Path(f"/proc/{pid}"))
    return (sum(own) / _TICKS) + sum(cpu_seconds(child) for child in _children(pid))


def own_cpu_seconds() -> float:
    """CPU taken so far by this process alone."""
    user, system, *_ = _stat(Path("/proc/self"))
    return (user + system) / _TICKS


def cpu_seconds_of_threads(pid: int) -> dict[str, float]:
    """CPU taken so far by the process's living threads; those of a name, but for a number, as one.

    A name has 15 characters at most.
    """
    taken: defaultdict[str, float] = defaultdict(float)
    for folder in Path(f"/proc/{pid}/task").iterdir():
        try:
            name, (user, system, *_) = (folder / "comm").read_text().strip(), _stat(folder)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has just ended
        taken[re.sub(r"[-_]\d+$", "", name)] += (user + system) / _TICKS
    return dict(taken)


def memory(pid: int) -> Memory:
    """Memory of the process and its children."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    own = [float(fields[name].split()[0]) / _MB for name in ("VmRSS", "VmHWM")]
    below = [memory(child) for child in _children(pid)]
    return Memory(
        own[0] + sum(each.resident_mb for each in below),
        own[1] + sum(each.peak_mb for each in below),
    )


def _stat(folder: Path) -> list[int]:
    """Clock ticks: user's and system's, of the process or thread and of its dead children."""
    # The name in parentheses may hold spaces; after it come the numbered fields from 3 on.
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    return [int(fields[number - 3]) for number in (14, 15, 16, 17)]


def _children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in path.read_text().split()] if path.exists() else []
