"""Paddle's elastic launcher with what its etcd client needs.

`python elastic_launch.py train_fleet.py` does what `python -m paddle.distributed.launch
train_fleet.py` does, and avoids three problems: the client's generated code needs protobuf in pure
Python; the process can crash if grpc is not imported before Paddle; and a launcher that loses etcd
fails like a program with a fault, although it only has to be started again.
"""

from __future__ import annotations

import os
import runpy
import sys

os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"

import grpc  # noqa: F401
from etcd3.exceptions import ConnectionFailedError, ConnectionTimeoutError

#: The exit code with which Paddle's launcher asks to be started again; it is no failure.
ELASTIC_RESTART = 101


def main() -> None:
    """Run the launcher, and ask for a restart if it has lost etcd."""
    try:
        runpy.run_module("paddle.distributed.launch", run_name="__main__", alter_sys=True)
    except (ConnectionFailedError, ConnectionTimeoutError) as error:
        print(f"the launcher has lost etcd: {error}", file=sys.stderr, flush=True)
        sys.exit(ELASTIC_RESTART)


if __name__ == "__main__":
    main()
