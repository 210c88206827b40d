"""The processes of one cluster by name, and waiting that ends when one of them dies."""

from collections.abc import Callable

from localcluster import clock
from localcluster.errors import StartError
from localcluster.process import Command, Process


class ProcessGroup:
    """What was started and not stopped since. To be used from one thread at a time."""

    def __init__(self) -> None:
        self._processes: dict[str, Process] = {}

    def start(self, command: Command) -> None:
        """Start it under its name, unless it runs."""
        process = self._processes.get(command.name)
        if process is None or not process.is_running:
            self.stop(command.name, 0)
            self._processes[command.name] = Process(command)

    def stop(self, name: str, grace_seconds: float | None = None) -> None:
        """Stop it if it was started; its end is then no accident."""
        process = self._processes.pop(name, None)
        if process is not None:
            process.stop(grace_seconds)

    def get(self, name: str) -> Process:
        """The process of that name; KeyError if it was stopped or never started."""
        return self._processes[name]

    def names(self) -> list[str]:
        """All, in the order of their start."""
        return list(self._processes)

    def dead(self) -> list[str]:
        """Those that ended by themselves."""
        return [name for name, process in self._processes.items() if not process.is_running]

    def wait_for(self, name: str, is_ready: Callable[[], bool], deadline: float) -> None:
        """Wait for what this process has to do, while all must stay alive; else StartError.

        The deadline is on the monotonic clock.
        """
        while not is_ready():
            for process in self._processes.values():
                process.raise_if_dead()
            if clock.monotonic() > deadline:
                log = self._processes[name].last_log_lines()
                raise StartError(f"{name} was not ready in time:\n{log}")
            clock.sleep(clock.POLL_SECONDS)
