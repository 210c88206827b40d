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
        """Call `do` for each item, the last in this thread; returns the results in order.

        If a call raises, its exception is raised when all calls have ended: the caller gives its
        job to another worker, which must not meet writes of this one.
        """
        started = [self._start(do, item) for item in items[:-1]]
        try:
            last = [do(item) for item in items[-1:]]
        finally:
            for each in started:
                each.exception()  # waits for its end
        return [each.result() for each in started] + last

    def close(self) -> None:
        """Let the threads end; does not wait for a call that hangs."""
        self._pool.shutdown(wait=False)

    def _start(self, do: Callable[[Item], Result], item: Item) -> Future[Result]:
        """Let a free helper call `do`, or call it here if none is free; returns the Future."""
        if not self._free.acquire(blocking=False):
            return _call(do, item)
        try:
            started = self._pool.submit(do, item)
        except RuntimeError:  # closed: the shutdown did not wait for this worker
            self._free.release()
            return _call(do, item)
        started.add_done_callback(lambda _: self._free.release())
        return started


def _call(do: Callable[[Item], Result], item: Item) -> Future[Result]:
    done: Future[Result] = Future()
    try:
        done.set_result(do(item))
    except BaseException as error:
        done.set_exception(error)
    return done
