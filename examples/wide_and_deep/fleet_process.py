"""One process of a parameter-server job: a server or a worker, from its start to its end.

Servers keep their share of the tables until they are stopped. Workers train on disjoint parts of a
click log and print the AUC on a held-out set after each epoch. If the job has been restarted, they
go on from the last checkpoint.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

# Paddle's C++ code reads this variable once, when it is loaded.
os.environ.setdefault("GLOG_minloglevel", "2")

import network
import paddle
import settings as settings_module
from console import log, quiet
from paddle.distributed import fleet
from trainer import Trainer


def run(make_role_maker: Callable[[], Any]) -> None:
    """Run to the end as a server or a worker: Fleet's role maker knows which.

    `make_role_maker` creates the role maker. Exits if this PaddlePaddle has no parameter servers.
    """
    if not hasattr(paddle.base.core, "DistFleetWrapper"):
        sys.exit(f"PaddlePaddle {paddle.__version__} has no parameter servers: use 2.6.2")
    settings = settings_module.from_environment()
    with tempfile.TemporaryDirectory(prefix="fleet-") as scratch:
        exit_on_sigterm()
        os.chdir(scratch)  # Fleet writes its own logs to the working directory
        paddle.enable_static()
        with quiet():
            fleet.init(make_role_maker(), log_level="ERROR")
        log(f"{_role()} of {fleet.server_num()} servers and {fleet.worker_num()} workers")
        with quiet():
            built = network.build(settings.learning_rate)
        if fleet.is_server():
            _serve()
        else:
            settings = replace(settings, shards=settings.shards or fleet.worker_num())
            Trainer(settings, built, Path(scratch)).run()


def exit_on_sigterm() -> None:
    """On SIGTERM, exit at once with code 15, as Paddle's launcher does, even with process id 1.

    The handler is C's own `_exit`, because Fleet's server never returns to Python, and a Python
    handler would never run. Nothing has to be finished first: a checkpoint is complete or absent.
    """
    paddle.disable_signal_handler()
    libc = ctypes.CDLL(None)
    libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
    libc.signal(signal.SIGTERM, ctypes.cast(libc._exit, ctypes.c_void_p))


def _role() -> str:
    if fleet.is_server():
        return f"server {fleet.server_index()}"
    return f"worker {fleet.worker_index()}"


def _serve() -> None:
    """Never returns."""
    with quiet():
        fleet.init_server()
    log("serving")
    with quiet():
        fleet.run_server()
