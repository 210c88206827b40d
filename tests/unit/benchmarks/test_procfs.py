"""What the kernel tells of this very process."""

import os
import threading
import time
from pathlib import Path

import pytest

from benchmarks.procfs import cpu_seconds_of_threads
from tests.live import patience

pytestmark = pytest.mark.skipif(
    not Path("/proc/thread-self").exists(), reason="there is no Linux /proc"
)
BUSY_SECONDS = 0.05


def test_threads_of_one_name_are_told_together():
    done, worked = threading.Event(), threading.Barrier(3)

    def work(name: str) -> None:
        Path("/proc/thread-self/comm").write_text(name)
        while time.thread_time() < BUSY_SECONDS:
            pass
        worked.wait(patience.SECONDS)
        done.wait(patience.SECONDS)

    names = ("busy-bee-1", "busy-bee-12")
    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    worked.wait(patience.SECONDS)
    taken = cpu_seconds_of_threads(os.getpid())
    done.set()
    for thread in threads:
        thread.join()
    # More than one of them took. The kernel tells whole ticks of 10 ms, so both may lose some.
    assert taken["busy-bee"] > 1.4 * BUSY_SECONDS
