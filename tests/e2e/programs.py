"""A kubelet, a kube-proxy and CoreDNS, built from their Go modules, once per user and version.

And Kubeflow's training operator, beside which starts are measured.
"""

from pathlib import Path

from benchmarks.peers.training_operator import PINS as PEER
from localcluster.machine.report import Report, tell
from localcluster.provision.binaries import PINS, version_values
from localcluster.provision.gobuild import Pins, ensure_built

SOURCES = Path(__file__).parent / "go"
NODE = Pins(
    title="kubelet and kube-proxy",
    name="node",
    version=PINS.version,
    folder=SOURCES / "node",
    binaries={
        "kubelet": "k8s.io/kubernetes/cmd/kubelet",
        "kube-proxy": "k8s.io/kubernetes/cmd/kube-proxy",
    },
    values=version_values(),
)
DNS = Pins(
    title="CoreDNS",
    name="coredns",
    version="v1.15.0",
    folder=SOURCES / "dns",
    binaries={"coredns": "."},
)


def ensure_programs(report: Report = tell) -> None:
    for pins in (NODE, DNS, PEER):
        ensure_built(pins, report)
