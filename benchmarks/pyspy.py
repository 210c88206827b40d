"""Finds out with py-spy what a Python operator does while it holds the interpreter's lock.

Only one thread can hold the lock, so the share of time in which it is held shows whether the lock
is the limit. Work without the lock, in OpenSSL and in the kernel, is not seen. There is no profile
if py-spy is not allowed to read another process's memory, or if the operator is not in Python.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.pprof import Kinds, Stack, shares
from localcluster.machine import clock
from localcluster.machine.process import Command, Process

RATE_PER_SECOND = 1000
LATE_SECONDS = 30.0

KINDS: Kinds = (
    ("HTTP and TLS", r"\((kube/http|http/client|ssl|socket)\.py"),
    ("JSON and what is around a request", r"\((controller/client/api|kube/parsing)\.py"),
    (
        "reading watch events",
        r"\((kube/watch|controller/(client/protobuf|cache/(reflector|event_handler|trim|facts)))\.py",
    ),
    ("the store of objects", r"\(controller/(cache/store|work/memory)\.py"),
    ("deciding what a job needs", r"\((reconcile/|controller/work/observer\.py)"),
    ("carrying it out", r"\(controller/work/(applier|children|events)\.py"),
    ("the queue", r"\(controller/workqueue/"),
    ("metrics and logs", r"\((metrics/|structlog/|prometheus_client/|controller/logs\.py)"),
    ("threads that hand work over", r"\((threading|concurrent/futures/.*|queue)\.py"),
)


@dataclass(frozen=True)
class LockProfile:
    """`held`: share of the time in which a thread had the GIL; `shares`: that time by purpose."""

    held: float
    shares: dict[str, float]


def record(pid: int, seconds: int, folder: Path) -> LockProfile | None:
    """Profile a process for this many seconds; None if py-spy cannot read it."""
    path, log = folder / "stacks.txt", folder / "py-spy.log"
    command = [
        *(str(Path(sys.executable).with_name("py-spy")), "record", "--pid", str(pid)),
        *("--duration", str(seconds), "--rate", str(RATE_PER_SECOND)),
        *("--gil", "--nonblocking", "--format", "raw", "--output", str(path)),
    ]
    process = Process(Command("py-spy", command, log=log, folder=folder))
    clock.wait_until(lambda: not process.is_running, seconds + LATE_SECONDS)
    process.stop()
    if not path.exists():
        return None
    stacks = list(read_stacks(path.read_text()))
    samples = sum(count for _, count in stacks)
    return LockProfile(samples / (RATE_PER_SECOND * seconds), shares(stacks, KINDS))


def read_stacks(text: str) -> Iterator[Stack]:
    """The stacks in py-spy's output, innermost function first, with their numbers of samples."""
    for line in text.splitlines():
        frames, _, count = line.rpartition(" ")
        yield frames.split(";")[::-1], int(count)
