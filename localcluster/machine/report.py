"""Reports the progress of long work, line by line, to a function."""

import os
import select
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from localcluster.machine import clock, guard

Report = Callable[[str], None]
Read = Callable[[str], str]
PROGRESS_SECONDS = 10.0
PIECE_BYTES = 65_536
BAR_WIDTH = 20
EARLY = 0.05
"""Below this share nothing is estimated: the speed so far says little."""


def tell(line: str) -> None:
    """Print a line at once, into a pipe too, and in one piece: other threads print as well."""
    print(f"{line}\n", end="", flush=True)


class Progress:
    """How much of a known amount of work is done. The rest is estimated from the speed so far."""

    def __init__(self, total: float) -> None:
        self._total = total
        self._done = 0.0
        self._started = clock.monotonic()

    def add(self, amount: float) -> str:
        """Count finished work; returns the bar with the estimate."""
        self._done += amount
        share = min(self._done / self._total, 1.0) if self._total else 1.0
        filled = round(share * BAR_WIDTH)
        bar = f"[{'#' * filled}{'-' * (BAR_WIDTH - filled)}] {share:4.0%}"
        if share < EARLY or share == 1.0:
            return bar
        seconds = (clock.monotonic() - self._started) * (1 - share) / share
        return f"{bar}, about {_duration(seconds)} left"


def run_to_end(
    command: Sequence[str],
    title: str,
    report: Report,
    folder: Path | None = None,
    environment: Mapping[str, str] = os.environ,
    read: Read = lambda _line: "",
) -> tuple[int, str]:
    """Run a command and report the elapsed time every 10 seconds; return its exit code and output
    (stdout and stderr together).

    `read` gets each line of output as it comes, and returns how far the command is; the reports
    have its last answer that is not empty. The command runs under a guard, which kills it if this
    process ends or the wait is interrupted.
    """
    started, said, reached = clock.monotonic(), [], ""
    lifeline, theirs = socket.socketpair()
    with (
        lifeline,
        theirs,
        subprocess.Popen(
            [*guard.command_line(theirs.fileno()), *command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[theirs.fileno()],
        ) as process,
    ):
        theirs.close()
        try:
            for line in _lines(process.stdout, PROGRESS_SECONDS):
                if line is None:
                    elapsed = f"{clock.monotonic() - started:.0f} s"
                    report(", ".join(filter(None, (f"  {title}", elapsed, reached))))
                else:
                    said.append(line)
                    reached = read(line.strip()) or reached
            return process.wait(), "".join(said)
        finally:
            lifeline.close()


def _lines(stream: IO[bytes] | None, seconds: float) -> Iterator[str | None]:
    """The stream's lines as they come, to its end; None at first and every `seconds`."""
    rest, due = b"", clock.monotonic()
    while stream is not None:
        if clock.monotonic() >= due:
            yield None
            due += seconds
        if select.select([stream], [], [], max(0.0, due - clock.monotonic()))[0]:
            piece = os.read(stream.fileno(), PIECE_BYTES)
            *whole, rest = (rest + piece).splitlines(keepends=True) or [b""]
            if not piece or rest.endswith(b"\n"):
                whole, rest = [*whole, rest], b""
            yield from (line.decode(errors="replace") for line in whole)
            if not piece:
                return


def _duration(seconds: float) -> str:
    """A time as people say it: 40 s, 3 min."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
