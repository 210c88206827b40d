"""The roles of a heterogeneous job: parameter servers, workers, and trainers on other devices.

Every process builds Fleet's PaddleCloudRoleMaker from the operator's environment and prints its
values as one line of JSON. Servers and heter trainers then listen at their endpoints until they are
stopped. Workers connect to every server and every trainer of the next stage, and end. Nothing is
trained, because PaddlePaddle 2.6.2 fails to split a program between workers and heter trainers
(`'tuple' object has no attribute 'merged_var'`), on any device.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
import time
from typing import Any

import paddle
from paddle.distributed import fleet

CONNECT_SECONDS = 60.0


def main() -> None:
    """Print this process's role, then serve or connect, as the role asks."""
    os.chdir(tempfile.mkdtemp())  # Fleet writes its own logs to the working directory
    paddle.disable_signal_handler()
    paddle.enable_static()
    role_maker = fleet.PaddleCloudRoleMaker()
    role_maker._generate_role()
    told = describe(role_maker)
    print(json.dumps(told), flush=True)
    if told["role"] == "worker":
        for endpoint in [*told["servers"], *told["next"]]:
            greet(endpoint)
        print("reached all", flush=True)
    else:
        serve(told["endpoint"])


def describe(role_maker: Any) -> dict[str, Any]:
    """The role maker's values. It uses private names, because Fleet has no public ones for some."""
    is_server = role_maker._is_server()
    roles = {"server": is_server, "worker": role_maker._is_worker()}
    return {
        "role": next((role for role, is_it in roles.items() if is_it), "heter"),
        "index": role_maker._role_id(),
        "endpoint": role_maker._cur_endpoint,
        "servers": role_maker._get_pserver_endpoints(),
        "workers": role_maker._get_trainer_endpoints(),
        "heter": role_maker._get_heter_worker_endpoints(),
        "next": [] if is_server else role_maker._get_next_trainers(),
        "previous": [] if is_server else role_maker._get_previous_trainers(),
        "stage": role_maker._get_stage_id(),
        "stages": role_maker._get_num_stage(),
        "stage_trainers": role_maker._get_stage_trainers(),
        "device": role_maker._heter_device_type(),
    }


def greet(endpoint: str) -> None:
    """Connect to a process that serves. Exit if that fails for CONNECT_SECONDS, or if the process
    answers with another endpoint.
    """
    host, port = endpoint.split(":")
    deadline = time.monotonic() + CONNECT_SECONDS
    while True:
        try:
            with socket.create_connection((host, int(port)), timeout=5.0) as connection:
                answer = connection.makefile().readline().strip()
                break
        except OSError as error:
            if time.monotonic() > deadline:
                sys.exit(f"cannot reach {endpoint}: {error}")
            time.sleep(0.5)
    if answer != endpoint:
        sys.exit(f"the process at {endpoint} says that its endpoint is {answer}")


def serve(endpoint: str) -> None:
    """Listen at the endpoint, and send `endpoint` to everyone who connects. Never returns."""
    host, port = endpoint.split(":")
    with socket.create_server((host, int(port))) as listener:
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(f"{endpoint}\n".encode())


if __name__ == "__main__":
    main()
