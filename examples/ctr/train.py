"""Click-through-rate training with the environment variables of 2019.

`python train.py --is_local 0 --cloud_train 1` reads PADDLE_PSERVERS, PADDLE_TRAINERS_NUM,
TRAINING_ROLE and similar variables to find its own role and the other processes; newer programs
leave that to Fleet. The model of each epoch is saved to `models/` beside this file.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

# The image has the network, the data and the training loop of wide_and_deep on PYTHONPATH.
os.environ.setdefault("OUTPUT_DIR", str(Path(__file__).with_name("models")))
os.environ.setdefault("SAVE_PASSES", "1")

import fleet_process
from paddle.distributed import fleet
from paddle.distributed.fleet.base.role_maker import Role


def main() -> None:
    """Check the arguments, and run in the role that the environment gives."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--is_local", type=int, default=0)
    parser.add_argument("--cloud_train", type=int, default=1)
    given = parser.parse_args()
    if given.is_local or not given.cloud_train or os.environ["PADDLE_IS_LOCAL"] != "0":
        sys.exit("this program trains in a cluster only: --is_local 0 --cloud_train 1")
    fleet_process.run(role_maker)


def role_maker() -> Any:
    """Fleet's role maker, made from the variables of 2019. Raises KeyError if one is not set."""
    is_server = os.environ["TRAINING_ROLE"] == "PSERVER"
    return fleet.UserDefinedRoleMaker(
        role=Role.SERVER if is_server else Role.WORKER,
        current_id=int(os.environ["PADDLE_PSERVER_ID" if is_server else "PADDLE_TRAINER_ID"]),
        worker_num=int(os.environ["PADDLE_TRAINERS_NUM"]),
        worker_endpoints=endpoints("PADDLE_TRAINER_IPS"),
        server_endpoints=endpoints("PADDLE_PSERVERS"),
    )


def endpoints(variable: str) -> list[str]:
    """The variable's hosts, each with a port: PADDLE_PORT, if the host comes without one."""
    port = os.environ["PADDLE_PORT"]
    hosts = os.environ[variable].split(",")
    return [host if ":" in host else f"{host}:{port}" for host in hosts]


if __name__ == "__main__":
    main()
