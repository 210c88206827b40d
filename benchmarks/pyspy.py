"""What a Python operator does while it holds the interpreter's lock, seen from outside by py-spy.

Only one thread can hold the lock: how often one does tells whether the lock is the limit. What is
done without it, in OpenSSL and in the kernel, is not seen. py-spy needs leave to read another
process's memory; where there is none, and for an operator in another language, there is no profile.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.pprof import Kinds, Stack, shares_of
from localcluster import clock
from localcluster.process import Command, Process

RATE_PER_SECOND = 1000
LATE_SECONDS = 30.0

KINDS: Kinds = (
    ("HTTP and TLS", r"\((controller/http1|ssl|socket)\.py"),
    ("JSON and what is around a request", r"\(controller/client\.py"),
    ("reading watch events", r"\(controller/(protobuf|reflector|informer|trim|facts)\.py"),
    ("the store of objects", r"\(controller/(store|expectations)\.py"),
    ("deciding what a job needs", r"\((reconcile/|controller/observe\.py)"),
    ("carrying it out", r"\(controller/(applier|children|refusals|events)\.py"),
    ("the queue", r"\(controller/(queue|rate_limiter)\.py"),
    ("metrics and logs", r"\((metrics/|structlog/|prometheus_client/|controller/logs\.py)"),
    ("threads that hand work over", r"\((threading|concurrent/futures/.*|queue)\.py"),
)


@dataclass(frozen=True)
class LockProfile:
    """`held` is the share of the time in which a thread held the lock, `shares` what for."""

    held: float
    shares: dict[str, float]


class Recorder:
    """py-spy on one process for some seconds, from now on; `profile` waits for its end."""

    def __init__(self, pid: int, seconds: int, folder: Path) -> None:
        self._seconds = seconds
        self._stacks = folder / "stacks.txt"
        command = [
            *(str(Path(sys.executable).with_name("py-spy")), "record", "--pid", str(pid)),
            *("--duration", str(seconds), "--rate", str(RATE_PER_SECOND)),
            *("--gil", "--nonblocking", "--format", "raw", "--output", str(self._stacks)),
        ]
        log = folder / "py-spy.log"
        self._process = Process(Command("py-spy", command, log=log, folder=folder))

    def profile(self) -> LockProfile | None:
        """What it saw; None where it could not look."""
        clock.wait_until(lambda: not self._process.is_running, self._seconds + LATE_SECONDS)
        self._process.stop()
        if not self._stacks.exists():
            return None
        stacks = list(read_stacks(self._stacks.read_text()))
        samples = sum(count for _, count in stacks)
        return LockProfile(samples / (RATE_PER_SECOND * self._seconds), shares_of(stacks, KINDS))


def read_stacks(text: str) -> Iterator[Stack]:
    """Stacks with their number of samples, innermost function first, of lines of py-spy's."""
    for line in text.splitlines():
        frames, _, count = line.rpartition(" ")
        yield frames.split(";")[::-1], int(count)
