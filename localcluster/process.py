"""A process of the cluster, seen from the one that started it.

Every process runs under a guard, so it ends with the process that holds this object, whatever
ends that one. The methods may be called from any thread, but not from two at once.
"""

import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from localcluster import guard
from localcluster.errors import StartError

LAST_LINES = 15
KILL_DEADLINE_SECONDS = 10.0


@dataclass(frozen=True)
class Command:
    """What to run. `grace_seconds` lie between SIGTERM and SIGKILL when the owner is gone."""

    name: str
    arguments: list[str]
    log: Path
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    grace_seconds: float = 0.0


class Process:
    """A running command under its guard; started by the constructor."""

    def __init__(self, command: Command) -> None:
        self.command = command
        self._lifeline, theirs = socket.socketpair()
        with theirs, command.log.open("ab") as log:
            self._guard = subprocess.Popen(
                [
                    *(sys.executable, "-I", "-S", guard.__file__),
                    *(str(theirs.fileno()), str(command.grace_seconds)),
                    *command.arguments,
                ],
                cwd=command.folder,
                env={**os.environ, **command.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for the owner alone
            )
        self.pid = self._read_pid()

    @property
    def is_running(self) -> bool:
        """Whether the command still runs."""
        return self._guard.poll() is None

    @property
    def exit_code(self) -> int | None:
        """The command's exit code, 128 + n after signal n; None while it runs."""
        return self._guard.poll()

    def signal(self, number: signal.Signals) -> None:
        """Send the command itself a signal, such as SIGSTOP or SIGKILL."""
        if self.is_running:
            os.kill(self.pid, number)

    def stop(self, grace_seconds: float | None = None) -> None:
        """End it and everything below it; returns when all of it is gone.

        SIGTERM, the grace, SIGKILL; without a grace the command's own, and with 0 only SIGKILL.
        """
        if grace_seconds is not None and self.is_running:
            self.signal(signal.SIGTERM if grace_seconds else signal.SIGKILL)
            self._wait(grace_seconds)
        self._lifeline.close()
        if not self._wait(self.command.grace_seconds + KILL_DEADLINE_SECONDS):
            self._guard.kill()
            self._guard.wait()

    def last_log_lines(self, count: int = LAST_LINES) -> str:
        """The end of its log."""
        return "\n".join(self.command.log.read_text(errors="replace").splitlines()[-count:])

    def raise_if_dead(self) -> None:
        """Raise a StartError that ends with the last log lines."""
        if not self.is_running:
            name = self.command.name
            raise StartError(f"{name} died ({self.exit_code}):\n{self.last_log_lines()}")

    def _wait(self, timeout_seconds: float) -> bool:
        try:
            self._guard.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _read_pid(self) -> int:
        line = self._lifeline.recv(64)
        if not line:
            self.stop(0)
            raise StartError(f"{self.command.name} did not start:\n{self.last_log_lines()}")
        return int(line)
