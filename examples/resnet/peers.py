"""What workers do together: reduce gradients, gather values, and bear the loss of a peer.

A peer's loss shows as an exception here. Left to itself, DataParallel reduces gradients inside
the backward pass, where the same loss aborts the process.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import Any

import paddle
from paddle import distributed
from paddle.distributed.fleet.utils.hybrid_parallel_util import fused_allreduce_gradients

#: A lost peer's key in etcd lives for 10 s, and the launcher looks every few seconds.
RELAUNCH_SECONDS = 60.0


def reduce_gradients(model: paddle.DataParallel) -> None:
    """Leaves in every parameter's gradient its mean over all workers."""
    if distributed.get_world_size() > 1:
        fused_allreduce_gradients(list(model.parameters()), None)


def gather(value: Any) -> list[Any]:
    """This value of every worker, by rank."""
    if distributed.get_world_size() == 1:
        return [value]
    values: list[Any] = []
    distributed.all_gather_object(values, value)
    return values


@contextlib.contextmanager
def held_for_relaunch() -> Iterator[None]:
    """Under an elastic launcher, wait to be stopped by it when a peer is lost.

    The launcher gives up when its own process fails, but starts it anew when it sees that a
    peer has gone, which takes it some seconds longer than Gloo. Without an elastic launcher
    the loss is this worker's failure too.
    """
    try:
        yield
    except RuntimeError as error:
        if int(os.environ.get("PADDLE_ELASTIC_LEVEL", "-1")) < 1:
            raise
        print(f"a peer is lost, waiting for the launcher: {error}", flush=True)
        time.sleep(RELAUNCH_SECONDS)
        raise
