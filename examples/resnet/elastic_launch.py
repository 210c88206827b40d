"""Paddle's elastic launcher with what its etcd client needs.

Started as `python elastic_launch.py train_fleet.py`, it is `python -m paddle.distributed.launch
train_fleet.py` but for two traps: the client's generated code runs on protobuf in pure Python only,
and grpc has to be imported before Paddle, or the process can crash.
"""

from __future__ import annotations

import os
import runpy

os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"

import grpc  # noqa: F401

if __name__ == "__main__":
    runpy.run_module("paddle.distributed.launch", run_name="__main__", alter_sys=True)
