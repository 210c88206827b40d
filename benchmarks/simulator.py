"""Nodes without machines: kwok, built from its Go module as the control plane is.

It plays the kubelet by its own stages: a bound pod runs at once and has an address, a deleted pod
goes at once, nodes send heartbeats. A simulated pod runs whether its ConfigMap exists or not.
"""

import shutil
from pathlib import Path

from benchmarks.rest import Raw
from localcluster.gobuild import Binary, Pins, Report, ensure_built, module_folder
from localcluster.process import Command, Process

MODULE = "sigs.k8s.io/kwok"
VERSION = "v0.8.0"
PINS = Pins(
    title="the node simulator",
    name="kwok",
    version=VERSION,
    folder=Path(__file__).parent / "go",
    binaries=(Binary("kwok", f"{MODULE}/cmd/kwok"),),
    values=(f"{MODULE}/pkg/consts.Version={VERSION}",),
)
STAGES = (
    "pod/fast/pod-ready.yaml",
    "pod/fast/pod-delete.yaml",
    "node/fast/node-initialize.yaml",
    "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
)
NODES = 10
PODS_PER_NODE = 20_000
ANNOTATION = "kwok.x-k8s.io/node"


def ensure_simulator(report: Report = print) -> Path:
    """The folder with the program and, next to it, the stages of its own version."""
    ensure_built(PINS, report)
    stages = PINS.home() / "stages"
    if not stages.is_dir():
        _copy_stages(stages, report)
    return PINS.home()


def start_simulator(home: Path, kubeconfig: Path, log: Path) -> Process:
    """Run it until it is stopped or the caller ends."""
    arguments = [
        str(home / "bin" / "kwok"),
        f"--kubeconfig={kubeconfig}",
        f"--manage-nodes-with-annotation-selector={ANNOTATION}=fake",
        "--cidr=10.0.0.0/8",
        "--node-lease-duration-seconds=40",
        "--v=WARN",
        *(f"--config={path}" for path in sorted((home / "stages").iterdir())),
    ]
    return Process(Command("kwok", arguments, log=log, folder=log.parent))


def build_nodes() -> list[Raw]:
    """The nodes for the simulator to bring to life: few, since each costs the scheduler time."""
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


def _copy_stages(stages: Path, report: Report) -> None:
    source = module_folder(PINS, MODULE, report) / "kustomize" / "stage"
    unfinished = stages.with_name(".stages")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for stage in STAGES:
        shutil.copyfile(source / stage, unfinished / Path(stage).name)
    unfinished.rename(stages)
