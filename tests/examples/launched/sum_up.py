"""A trainer that adds up the ranks of all, and says where it listens."""

import os
import sys
from pathlib import Path

LISTENING = "0A"


def listening_ports() -> list[int]:
    """Of this pod: it has a network of its own."""
    lines = [line for kind in ("tcp", "tcp6") for line in _table(kind)]
    found = (line.split() for line in lines)
    return sorted({int(part[1].rpartition(":")[2], 16) for part in found if part[3] == LISTENING})


def _table(kind: str) -> list[str]:
    return Path("/proc/net", kind).read_text().splitlines()[1:]


def main() -> None:
    import paddle
    import paddle.distributed as dist

    dist.init_parallel_env()
    rank, world = dist.get_rank(), dist.get_world_size()
    total = paddle.to_tensor([rank + 1.0])
    dist.all_reduce(total)
    ports = ",".join(map(str, listening_ports()))
    sys.stdout.write(f"rank {rank} of {world}: sum {int(total.item())} on {ports}\n")
    sys.stdout.flush()
    dist.barrier()
    if os.environ["PADDLE_RENDEZVOUS"] < os.environ["ATTEMPTS"]:
        sys.exit("not the last attempt")


main()
