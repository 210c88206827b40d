"""Describes the machine and the versions of a run."""

import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

from benchmarks import simulator
from benchmarks.adapter import PROJECT
from localcluster.machine import clock
from localcluster.provision.binaries import KUBERNETES_VERSION


def describe_machine() -> dict[str, Any]:
    """This machine now. A high `load` (the load average of a minute) makes figures less exact."""
    pages = os.sysconf("SC_PHYS_PAGES")
    model = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return {
        "date": clock.utc_now().strftime("%Y-%m-%d %H:%M UTC"),
        "processor": model[1] if model else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(pages * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "kubernetes": KUBERNETES_VERSION,
        "simulator": f"kwok {simulator.VERSION}",
        "revision": _revision(),
    }


def _revision() -> str:
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=PROJECT, capture_output=True, text=True
        )
    except OSError:
        return ""
    return done.stdout.strip()
