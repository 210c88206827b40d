"""Distributed training as a plain Kubernetes Job: does what the operator would do.

Every pod of the Job is one node, with a parameter server and a trainer. The pod asks the API server
for the Job's pods and waits until all of them run. Its trainer id is the index of its own address
in the sorted list of all addresses. Then it starts server and trainer with these addresses in their
environment. The pod's service account must be allowed to list pods. Logs and models go to `output/`
on the shared storage.
"""

from __future__ import annotations

import ipaddress
import json
import os
import socket
import ssl
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
POLL_SECONDS = 2.0


@dataclass(frozen=True)
class Node:
    """This pod among its peers. `job_uid` is different if the Job is created again."""

    trainer_id: int
    addresses: list[str]
    job_uid: str


def main() -> None:
    """Find the peers, start a server and a trainer, and exit with the trainer's exit code."""
    job = Path(os.environ["JOB_PATH"], os.environ["JOB_NAME"])
    node = wait_for_peers(int(os.environ["CONF_PADDLE_GRADIENT_NUM"]))
    logs = job / "output" / f"node_{node.trainer_id}"
    logs.mkdir(parents=True, exist_ok=True)
    print(f"node {node.trainer_id} of {','.join(node.addresses)}", flush=True)
    settings = {
        "DATA_DIR": str(job / "data"),
        "OUTPUT_DIR": str(job / "output"),
        "SAVE_PASSES": "1",
    }
    server = start("PSERVER", node, settings, logs / "server.log")
    trainer = start("TRAINER", node, settings, logs / "train.log")
    code = trainer.wait()
    if code == 0:
        wait_for_trainers(node, job / "output", logs)
    server.terminate()
    server.wait()
    sys.exit(code)


def wait_for_peers(count: int) -> Node:
    """Wait until `count` pods of the Job run. Returns their addresses and this pod's index."""
    own = socket.gethostbyname(socket.gethostname())
    while True:
        pods = running_pods()
        if len(pods) == count:
            addresses = [pod["status"]["podIP"] for pod in pods]
            addresses.sort(key=lambda address: ipaddress.ip_address(address).packed)
            owner = pods[0]["metadata"]["ownerReferences"][0]
            return Node(addresses.index(own), addresses, owner["uid"])
        print(f"{len(pods)} of {count} pods run", flush=True)
        time.sleep(POLL_SECONDS)


def running_pods() -> list[dict[str, Any]]:
    """The Job's pods that run and are not being deleted."""
    selector = urllib.parse.quote(f"job-name={os.environ['JOB_NAME']}")
    pods = get(f"/api/v1/namespaces/{os.environ['JOB_NAMESPACE']}/pods?labelSelector={selector}")
    return [
        pod
        for pod in pods["items"]
        if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]
    ]


def get(path: str) -> dict[str, Any]:
    """Read this path of the API server with the pod's service account."""
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    token = (ACCOUNT / "token").read_text()
    request = urllib.request.Request(
        f"https://{host}:{port}{path}", headers={"Authorization": f"Bearer {token}"}
    )
    trust = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    with urllib.request.urlopen(request, context=trust, timeout=30) as response:
        answer: dict[str, Any] = json.load(response)
        return answer


def start(role: str, node: Node, settings: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    """Start the training program as a PSERVER or TRAINER; its output goes to `log`."""
    with log.open("w") as out:
        return subprocess.Popen(
            [sys.executable, "-u", "train.py"],
            env=os.environ | environment(role, node) | settings,
            stdout=out,
            stderr=subprocess.STDOUT,
        )


def environment(role: str, node: Node) -> dict[str, str]:
    """The variables by which a program finds its peers. In a PaddleJob the operator sets them."""
    server_port = int(os.environ["CONF_PADDLE_PORT"])
    trainer_port = server_port + int(os.environ["CONF_PADDLE_PORTS_NUM"])
    gloo_port = trainer_port + int(os.environ["CONF_PADDLE_PORTS_NUM_SPARSE"])
    own_port = server_port if role == "PSERVER" else trainer_port
    own = node.addresses[node.trainer_id]
    return {
        "TRAINING_ROLE": role,
        "POD_IP": own,
        "PADDLE_PORT": str(own_port),
        "PADDLE_TRAINER_ID": str(node.trainer_id),
        "PADDLE_TRAINERS_NUM": str(len(node.addresses)),
        "PADDLE_PSERVERS_IP_PORT_LIST": join(node.addresses, server_port),
        "PADDLE_TRAINER_ENDPOINTS": join(node.addresses, trainer_port),
        "PADDLE_WITH_GLOO": "1",
        "PADDLE_GLOO_RENDEZVOUS": "3",
        "PADDLE_GLOO_HTTP_ENDPOINT": f"{node.addresses[0]}:{gloo_port}",
    }


def join(addresses: list[str], port: int) -> str:
    """The addresses, each with this port, in the format of Paddle's variables."""
    return ",".join(f"{address}:{port}" for address in addresses)


def wait_for_trainers(node: Node, output: Path, logs: Path) -> None:
    """Wait until every node's trainer has succeeded: they need this node's server until then."""
    mark = f".done-{node.job_uid}"
    (logs / mark).touch()
    while not all((output / f"node_{peer}" / mark).exists() for peer in range(len(node.addresses))):
        time.sleep(POLL_SECONDS)


if __name__ == "__main__":
    main()
