"""What workers do together: reduce gradients, gather values, and survive the loss of a peer.

Gradients are reduced here, after the backward pass, where the loss of a peer raises an exception.
DataParallel would reduce them within the backward pass, where the same loss aborts the process.
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

#: How long to wait for the launcher: a lost peer's key stays in etcd for 10 s, and the launcher
#: looks every few seconds.
RELAUNCH_SECONDS = 60.0


def reduce_gradients(model: paddle.DataParallel) -> None:
    """Replace every parameter's gradient by its mean over all workers.

    Raises RuntimeError when a peer is lost.
    """
    if distributed.get_world_size() > 1:
        fused_allreduce_gradients(list(model.parameters()), None)


def gather(value: Any) -> list[Any]:
    """Every worker's value, by rank. Raises RuntimeError when a peer is lost."""
    if distributed.get_world_size() == 1:
        return [value]
    values: list[Any] = []
    distributed.all_gather_object(values, value)
    return values


@contextlib.contextmanager
def held_for_relaunch() -> Iterator[None]:
    """If a peer is lost under an elastic launcher, wait until the launcher restarts this program.

    Any RuntimeError counts as a lost peer. The launcher notices the loss some seconds later than
    Gloo, and would give up if the program failed by then. Without an elastic launcher, or after
    RELAUNCH_SECONDS, the error is raised again, and this worker fails as well.
    """
    try:
        yield
    except RuntimeError as error:
        if int(os.environ.get("PADDLE_ELASTIC_LEVEL", "-1")) < 1:
            raise
        print(f"a peer is lost, waiting for the launcher: {error}", flush=True)
        time.sleep(RELAUNCH_SECONDS)
        raise
