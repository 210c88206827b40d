"""Reports the progress of long work, line by line, to a function."""

import contextlib
import os
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from localcluster.machine import clock, guard

Report = Callable[[str], None]
PROGRESS_SECONDS = 10.0


def run_to_end(
    command: Sequence[str],
    title: str,
    report: Report,
    folder: Path | None = None,
    environment: Mapping[str, str] = os.environ,
) -> tuple[int, str]:
    """Run a command and report the elapsed time every 10 seconds; return its exit code and output
    (stdout and stderr together).

    It runs under a guard, which kills it if this process ends or the wait is interrupted.
    """
    started = clock.monotonic()
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
            text=True,
            errors="replace",
            pass_fds=[theirs.fileno()],
        ) as process,
    ):
        theirs.close()
        try:
            while True:
                report(f"  {title}, {clock.monotonic() - started:.0f} s")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    said = process.communicate(timeout=PROGRESS_SECONDS)[0]
                    return process.returncode, said
        finally:
            lifeline.close()
