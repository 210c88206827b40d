"""On what, and with which versions, a run was made."""

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchmarks import simulator
from benchmarks.adapter import PROJECT
from localcluster import clock
from localcluster.build import KUBERNETES_VERSION


@dataclass(frozen=True)
class Machine:
    """Facts about a run. `load` is the run queue before it began: others at work blur figures."""

    date: str
    processor: str
    cores: int
    memory_gb: float
    load: float
    python: str
    kubernetes: str
    simulator: str
    revision: str


def describe_machine() -> Machine:
    """This machine, now."""
    return Machine(
        date=clock.utc_now().strftime("%Y-%m-%d %H:%M UTC"),
        processor=_field("/proc/cpuinfo", "model name") or platform.machine(),
        cores=len(os.sched_getaffinity(0)),
        memory_gb=round(int(_field("/proc/meminfo", "MemTotal").split()[0]) / 2**20, 1),
        load=round(os.getloadavg()[0], 2),
        python=platform.python_version(),
        kubernetes=KUBERNETES_VERSION,
        simulator=f"kwok {simulator.VERSION}",
        revision=_revision(),
    )


def _field(path: str, name: str) -> str:
    for line in Path(path).read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def _revision() -> str:
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=PROJECT, capture_output=True, text=True
        )
    except OSError:
        return ""
    return done.stdout.strip()
