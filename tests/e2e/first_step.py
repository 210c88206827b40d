"""A trainer that notes when its launcher and it began, and when its first all_reduce was done.

A line for each goes to the pod's file on the volume at /times: what it is, and seconds since 1970.
Then it waits.
"""

import os
import signal
import socket
import time
from pathlib import Path

FILE = Path("/times", socket.gethostname())
BOOTED = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)


def note(event: str, at: float) -> None:
    with FILE.open("a") as file:
        file.write(f"{event} {at}\n")


def started(process: int) -> float:
    """When a process began, to a hundredth of a second: proc(5), the 22nd word of its stat."""
    ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    return BOOTED + int(ticks) / os.sysconf("SC_CLK_TCK")


note("launcher", started(os.getppid()))
note("line", time.time())
import paddle  # noqa: E402
from paddle import distributed  # noqa: E402

distributed.init_parallel_env()
total = paddle.to_tensor([distributed.get_rank() + 1.0])
distributed.all_reduce(total)
assert total.item() == sum(range(1, distributed.get_world_size() + 1))
note(f"sum-of-{distributed.get_world_size()}", time.time())
signal.pause()
