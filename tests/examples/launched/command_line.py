"""Starts the launcher as paddleformers-cli does: without ten of the variables, from four others."""

import os
import sys

DELETED = (
    *("PADDLE_TRAINERS_NUM", "PADDLE_TRAINER_ID", "PADDLE_WORKERS_IP_PORT_LIST"),
    *("PADDLE_TRAINERS", "PADDLE_NUM_GRADIENT_SERVERS", "PADDLE_ELASTIC_JOB_ID"),
    *("PADDLE_TRAINER_ENDPOINTS", "DISTRIBUTED_TRAINER_ENDPOINTS", "FLAGS_START_PORT"),
    "PADDLE_ELASTIC_TIMEOUT",
)

for name in DELETED:
    os.environ.pop(name, None)
master = f"{os.environ.get('MASTER_ADDR', '127.0.0.1')}:{os.environ.get('MASTER_PORT', '8080')}"
options = ["--master", master, "--nnodes", os.environ.get("NNODES", "1")]
options += ["--rank", os.environ.get("RANK", "0")]
launcher = [sys.executable, "-m", "paddle.distributed.launch", *options, *sys.argv[1:]]
os.execv(sys.executable, launcher)
