"""Handles for the processes of a cluster.

Every command runs under a guard, which stops it when the process that created the `Process` object
ends, for whatever reason. Any thread can call the methods, but not two threads at the same time.
"""

import contextlib
import os
import re
import signal
import socket
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from localcluster.machine import clock, guard
from localcluster.machine.errors import StartError

LAST_LINES = 15
KILL_DEADLINE_SECONDS = 10.0
PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy"})
GO_STACKS = re.compile(r"(\n\n+goroutine \d+ .*\[.*(\n.+)*)+\s*\Z")
"""Where a Go program was when it died; why is said before."""


def direct_environment() -> dict[str, str]:
    """This process's environment without proxies, for what speaks only to a cluster's processes.

    A proxy knows none of their addresses, and not all of them are loopback addresses, for which
    programs written in Go use no proxy.
    """
    return {name: value for name, value in os.environ.items() if name.lower() not in PROXIES}


@dataclass(frozen=True)
class Command:
    """A command to run. When the process that started it ends, the guard sends the command SIGTERM,
    and SIGKILL after `grace_seconds`; only SIGKILL if that is 0.
    """

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
                    *guard.command_line(theirs.fileno(), command.grace_seconds),
                    *command.arguments,
                ],
                cwd=command.folder,
                env={**direct_environment(), **command.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C must reach only the process that starts this
            )
        self.pid = self._read_pid()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def is_running(self) -> bool:
        """Whether the command, or its guard, still runs."""
        return self._guard.poll() is None

    @property
    def exit_code(self) -> int | None:
        """The command's exit code, 128 + n after signal n; None while it runs."""
        return self._guard.poll()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the command alone, not to its descendants, unless it has ended."""
        with contextlib.suppress(ProcessLookupError):  # it ends a moment before its guard
            if self.is_running:
                os.kill(self.pid, number)

    def stop(self, grace_seconds: float = 0.0) -> None:
        """Stop the command and its descendants, and wait until the guard has ended.

        With `grace_seconds`, the command first gets SIGTERM and this time to end. Then the guard
        stops it, as it does when this process ends. A guard that takes too long is killed.
        """
        if grace_seconds:
            self.signal(signal.SIGTERM)
            self._wait(grace_seconds)
        self._lifeline.close()
        if not self._wait(self.command.grace_seconds + KILL_DEADLINE_SECONDS):
            self._guard.kill()
            self._guard.wait()

    def last_log_lines(self, count: int = LAST_LINES) -> str:
        """The last `count` lines of the command's log file, without the stacks of a Go program."""
        text = GO_STACKS.sub("", self.command.log.read_text(errors="replace"))
        return "\n".join(text.splitlines()[-count:])

    def raise_if_dead(self) -> None:
        """Raise a StartError with the last log lines if the command has ended."""
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
            self.stop()
            raise StartError(f"{self.command.name} did not start:\n{self.last_log_lines()}")
        return int(line)


class ProcessGroup(dict[str, Process]):
    """The started processes by name, in start order, until `stop` removes them."""

    def start(self, command: Command) -> None:
        """Start the command, unless a process of its name is running. Raises StartError."""
        process = self.get(command.name)
        if process is None or not process.is_running:
            self.stop(command.name)
            self[command.name] = Process(command)

    def stop(self, name: str, grace_seconds: float = 0.0) -> None:
        """Stop the process of this name, if there is one, and remove it from the group."""
        process = self.pop(name, None)
        if process is not None:
            process.stop(grace_seconds)

    def dead(self) -> list[str]:
        """The names of the processes that ended without a call of `stop`."""
        return [name for name, process in self.items() if not process.is_running]

    def wait_for(self, name: str, is_ready: Callable[[], bool], deadline: float) -> None:
        """Wait until process `name` is ready. Raises StartError at the deadline, which is on the
        monotonic clock, or if any process of the group ends first.
        """
        while not is_ready():
            for process in self.values():
                process.raise_if_dead()
            if clock.monotonic() > deadline:
                log = self[name].last_log_lines()
                raise StartError(f"{name} was not ready in time:\n{log}")
            clock.sleep(clock.POLL_SECONDS)
