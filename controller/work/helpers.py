"""Threads that help the workers to write many objects at once. Thread-safe.

If no helper is free, a worker does the work itself. If the writes of one job hang because of a
webhook, other jobs continue with their own workers.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Helpers:
    """A fixed number of threads, shared by all workers."""

    def __init__(self, count: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix=name)
        self._free = threading.Semaphore(count)

    def map(self, do: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Call `do` for each item, the last in this thread; returns the results in order."""
        started = [self._start(do, item) for item in items[:-1]]
        last = [do(item) for item in items[-1:]]
        return [each.result() for each in started] + last

    def close(self) -> None:
        """Stop the threads. Call this only when no worker uses them any more."""
        self._pool.shutdown(cancel_futures=True)

    def _start(self, do: Callable[[Item], Result], item: Item) -> Future[Result]:
        """Let a free helper call `do`, or call it here if none is free; returns the Future."""
        if self._free.acquire(blocking=False):
            started = self._pool.submit(do, item)
            started.add_done_callback(lambda _: self._free.release())
            return started
        done: Future[Result] = Future()
        done.set_result(do(item))
        return done
