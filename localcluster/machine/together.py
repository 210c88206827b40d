"""Runs steps side by side, such as downloads and a compiler."""

import queue
import threading
from collections.abc import Callable


def together(*steps: Callable[[], object]) -> None:
    """Run each step in a thread of its own; raise the first error as soon as it is there.

    After an error or an interruption the other steps still run. The caller has to end the process,
    which stops their commands (guard.py).
    """
    ends: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

    def run(step: Callable[[], object]) -> None:
        try:
            step()
        except BaseException as error:
            ends.put(error)
        else:
            ends.put(None)

    for step in steps:
        threading.Thread(target=run, args=(step,), daemon=True).start()
    for _ in steps:
        if error := ends.get():
            raise error
