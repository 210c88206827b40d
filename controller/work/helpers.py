"""Threads that help the workers to write many objects at once.

No worker waits for a helper: if none is free, it does the work itself. If one job's writes
hang, because of a webhook, other jobs continue with their own workers. Any worker may call.
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
        """The results, in order. The worker takes part, and the last item is always its own."""
        started = [self._start(do, item) for item in items[:-1]]
        last = [do(item) for item in items[-1:]]
        return [each.result() for each in started] + last

    def close(self) -> None:
        """End the threads, once no worker uses them."""
        self._pool.shutdown(cancel_futures=True)

    def _start(self, do: Callable[[Item], Result], item: Item) -> Future[Result]:
        """The future result from a helper, or the result right away from the worker itself."""
        if self._free.acquire(blocking=False):
            started = self._pool.submit(do, item)
            started.add_done_callback(lambda _: self._free.release())
            return started
        done: Future[Result] = Future()
        done.set_result(do(item))
        return done
