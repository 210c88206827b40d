"""A trainer that says when it began, adds up the ranks of all, and says where it listens."""

import os
import sys
import time
from pathlib import Path

BEGUN = time.time()
LISTENING = "0A"


def listening_ports() -> list[int]:
    """Of this pod: it has a network of its own."""
    lines = [line for kind in ("tcp", "tcp6") for line in _table(kind)]
    found = (line.split() for line in lines)
    return sorted({int(part[1].rpartition(":")[2], 16) for part in found if part[3] == LISTENING})


def _table(kind: str) -> list[str]:
    return Path("/proc/net", kind).read_text().splitlines()[1:]


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    say(f"begun after {BEGUN - float(os.environ['LAUNCHED']):.2f} s")
    import paddle
    import paddle.distributed as dist

    dist.init_parallel_env()
    rank, world = dist.get_rank(), dist.get_world_size()
    total = paddle.to_tensor([rank + 1.0])
    dist.all_reduce(total)
    ports = ",".join(map(str, listening_ports()))
    say(f"rank {rank} of {world}: sum {int(total.item())} on {ports}")
    dist.barrier()
    if os.environ["PADDLE_RENDEZVOUS"] == "1":
        sys.exit("the first attempt fails")


main()
