"""Reads from the kernel the CPU and the memory that a process and its children use."""

import os
import re
from collections import Counter
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
RESIDENT, PEAK = "VmRSS", "VmHWM"


def cpu_seconds(pid: int) -> float:
    """CPU seconds used so far by the process, its threads and its children."""
    own = _stat(Path(f"/proc/{pid}"))
    return sum(own) / _TICKS + sum(map(cpu_seconds, _children(pid)))


def cpu_seconds_of_threads(pid: int) -> dict[str, float]:
    """CPU seconds used so far by the process's threads that still run, by name.

    Threads whose names differ only in the number at the end are summed. The kernel cuts a name
    after 15 characters.
    """
    ticks: Counter[str] = Counter()
    for folder in Path(f"/proc/{pid}/task").iterdir():
        try:
            name, (user, system, *_) = (folder / "comm").read_text().strip(), _stat(folder)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has just ended
        ticks[re.sub(r"[-_]\d+$", "", name)] += user + system
    return {name: count / _TICKS for name, count in ticks.items()}


def memory_mb(pid: int, field: str) -> float:
    """Memory of the process and its children in MiB: RESIDENT now, or the sum of the PEAKs."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    kilobytes = dict(line.split(":", 1) for line in lines)[field].split()[0]
    return int(kilobytes) / 1024 + sum(memory_mb(child, field) for child in _children(pid))


def _stat(folder: Path) -> list[int]:
    """Clock ticks of the process or thread, in user mode and in the kernel, and the same two of its
    children that have ended.
    """
    # The name in parentheses can contain spaces; the fields from number 3 on follow it.
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    return [int(field) for field in fields[14 - 3 : 17 - 3 + 1]]


def _children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in path.read_text().split()] if path.exists() else []
