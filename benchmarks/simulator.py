"""Nodes without machines: kwok, built from its Go module as the control plane is.

It plays the kubelet by its own stages: a bound pod runs at once and has an address, a deleted pod
goes at once, nodes send heartbeats. A simulated pod runs whether its ConfigMap exists or not.
"""

from pathlib import Path

from localcluster.gobuild import Binary, Pins, ensure_built, ensure_files
from localcluster.process import Command, Process
from localcluster.report import Report
from localcluster.rest import Raw

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


def ensure_simulator(report: Report = print) -> None:
    """Build the program, and fetch the stages of its own version."""
    ensure_built(PINS, report)
    stages = {f"kustomize/stage/{stage}": _kept(stage) for stage in STAGES}
    ensure_files(PINS, MODULE, stages, report)


def start_simulator(kubeconfig: Path, log: Path) -> Process:
    """Run it until it is stopped or the caller ends."""
    arguments = [
        str(PINS.binaries_folder() / "kwok"),
        f"--kubeconfig={kubeconfig}",
        f"--manage-nodes-with-annotation-selector={ANNOTATION}=fake",
        "--cidr=10.0.0.0/8",
        "--node-lease-duration-seconds=40",
        "--v=WARN",
        *(f"--config={_kept(stage)}" for stage in STAGES),
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


def _kept(stage: str) -> Path:
    return PINS.home() / "stages" / Path(stage).name
