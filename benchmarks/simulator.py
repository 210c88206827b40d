"""Simulates nodes with kwok, which is built from its Go module like the control plane.

kwok acts as the kubelets: a bound pod runs and gets an address at once, a deleted pod disappears at
once, and nodes send heartbeats. A simulated pod runs whether its ConfigMap exists or not.
"""

import json
from pathlib import Path

from localcluster.client.rest import Raw
from localcluster.machine.ports import HOST, claim_port
from localcluster.machine.process import Command, Process
from localcluster.provision.gobuild import Pins

MODULE = "sigs.k8s.io/kwok"
VERSION = "v0.8.0"
STAGES = (
    "kustomize/stage/pod/fast/pod-ready.yaml",
    "kustomize/stage/pod/fast/pod-delete.yaml",
    "kustomize/stage/node/fast/node-initialize.yaml",
    "kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
)
PINS = Pins(
    title="the node simulator",
    name="kwok",
    version=VERSION,
    folder=Path(__file__).parent / "go",
    binaries={"kwok": f"{MODULE}/cmd/kwok"},
    values=(f"{MODULE}/pkg/consts.Version={VERSION}",),
    module=MODULE,
    files=STAGES,
)
NODES = 10
PODS_PER_NODE = 20_000
ANNOTATION = "kwok.x-k8s.io/node"


def start_simulator(kubeconfig: Path, log: Path, training_log: Path | None = None) -> Process:
    """Start kwok; it runs until it is stopped or the calling process ends.

    If there is a `training_log`, which has the format of a container runtime, it is served as the
    log of every pod.
    """
    arguments = [
        str(PINS.binaries_folder() / "kwok"),
        f"--kubeconfig={kubeconfig}",
        f"--manage-nodes-with-annotation-selector={ANNOTATION}=fake",
        "--cidr=10.0.0.0/8",
        "--node-lease-duration-seconds=40",
        "--v=WARN",
        *(f"--config={PINS.file(stage)}" for stage in STAGES),
        *(_serving(training_log) if training_log else ()),
    ]
    return Process(Command("kwok", arguments, log=log, folder=log.parent))


def _serving(training_log: Path) -> list[str]:
    port, claim = claim_port()
    claim.close()
    config = training_log.with_name("logs.yaml")
    named = {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "ClusterLogs"}
    logs = {"logs": [{"logsFile": str(training_log)}]}
    config.write_text(json.dumps({**named, "metadata": {"name": "all"}, "spec": logs}))
    return [f"--config={config}", f"--node-ip={HOST}", f"--node-port={port}"]


def build_nodes() -> list[Raw]:
    """The nodes for the simulator: only a few large ones, because each costs the scheduler time."""
    size = {"cpu": "1000000", "memory": "1000Ti", "pods": str(PODS_PER_NODE)}
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"simulated-{number}", "annotations": {ANNOTATION: "fake"}},
            "status": {"capacity": size, "allocatable": size},
        }
        for number in range(NODES)
    ]
