"""How many test processes this machine carries now: `python -m tests.live.processcount`.

A process has a control plane with its nodes, and one of them trains. Most tests wait, so there are
two processes for each core, and no more than there is memory for beside what others have taken.
Others that keep the cores busy do not count: their share would only grow, and no test fails for
being slow. One process (0) where a user may make no networks.
"""

import os
import sys
from pathlib import Path

from tests.live.networks import may_as_root, may_make_networks

PER_CORE = 2
MOST = 16
API_SERVER_MIB = 500
PROCESS_MIB = API_SERVER_MIB + 1000
"""What a process takes while nothing trains: what runs beside the API server 350, nodes and
operators 400, the test process 250."""
TRAINING_MIB = 2000
"""What one training takes more."""
NONE = 0


def choose(cores: int, available_mib: int) -> int:
    """By cores, and memory that can be had."""
    found = min(PER_CORE * cores, (available_mib - TRAINING_MIB) // PROCESS_MIB, MOST)
    return found if found > 1 else NONE


def available_mib(meminfo: str) -> int:
    lines = (line.split() for line in meminfo.splitlines())
    return next(int(words[1]) // 1024 for words in lines if words[0] == "MemAvailable:")


def in_group_mib(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    """What the container that this runs in may still take; None without a limit."""
    try:
        limit = (folder / "memory.max").read_text().strip()
        used = int((folder / "memory.current").read_text())
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    except OSError:
        return None
    return None if limit == "max" else (int(limit) - used + int(stat["inactive_file"])) >> 20


def main() -> None:
    free = available_mib(Path("/proc/meminfo").read_text())
    group = in_group_mib()
    cores = len(os.sched_getaffinity(0))
    found = choose(cores, free if group is None else min(free, group))
    sys.stdout.write(f"{found if may_make_networks() or may_as_root() else NONE}\n")


if __name__ == "__main__":
    main()
