"""The operator's threads: named, monitored, and joined at the end.

A thread that dies of an exception, or returns before the stop, leaves a process that looks alive
and does nothing. So the end of any thread ends the process, and the kubelet starts it again.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from controller.logs import Log
from kube.clock import Clock

_KERNEL_NAME = Path("/proc/thread-self/comm")
_KERNEL_NAME_BYTES = 15


class Threads:
    """Starts threads, and calls `on_death` when one ends unexpectedly."""

    def __init__(self, clock: Clock, log: Log, on_death: Callable[[], None]) -> None:
        self._clock = clock
        self._log = log
        self._on_death = on_death
        self._threads: list[threading.Thread] = []
        self._is_stopping = threading.Event()

    def start(self, name: str, run: Callable[[], None]) -> None:
        """Run the function in a thread of this name."""
        thread = threading.Thread(target=self._guard, args=(name, run), name=name, daemon=True)
        thread.start()
        self._threads.append(thread)  # not before its start: a probe would report it as dead

    def expect_returns(self) -> None:
        """From now on, threads are allowed to end."""
        self._is_stopping.set()

    def dead(self) -> list[str]:
        """Names of threads that have ended."""
        return [thread.name for thread in self._threads if not thread.is_alive()]

    def join(self, seconds: float, name: str = "") -> list[str]:
        """Wait for all threads, or for the named one; returns the names of those still alive."""
        threads = [thread for thread in self._threads if name in ("", thread.name)]
        deadline = self._clock.monotonic() + seconds
        for thread in threads:
            thread.join(max(0.0, deadline - self._clock.monotonic()))
        return [thread.name for thread in threads if thread.is_alive()]

    def _guard(self, name: str, run: Callable[[], None]) -> None:
        with suppress(OSError):  # let `top -H` and `ps -L` show the name, if there is a /proc
            _KERNEL_NAME.write_text(name[:_KERNEL_NAME_BYTES])
        try:
            run()
        except BaseException:
            self._log.exception("thread_died", thread=name)
            self._on_death()
            return
        if not self._is_stopping.is_set():
            self._log.error("thread_ended", thread=name)
            self._on_death()
