"""Runs this project's operator on a local cluster: its manifests, and a process outside of pods."""

from localcluster.cluster.cluster import Cluster
from localcluster.commands import manifests
from localcluster.machine.project import FINDABLE, IMPORTS, PROJECT, command

MANIFESTS = PROJECT / "manifests" / "v1"
NAMESPACE = "paddle-system"
SERVICE_ACCOUNT = "paddle-controller-manager"


def install_operator(cluster: Cluster) -> None:
    """Install the operator's manifests without the Deployment: here the operator is a process."""
    manifests.install(cluster, MANIFESTS / "crd.yaml")
    operator = MANIFESTS / "operator-all-namespaces.yaml"
    manifests.install(cluster, stdin=manifests.without("Deployment", operator))


def start_operator(cluster: Cluster) -> None:
    """Start the operator for all namespaces, with a token of its ServiceAccount."""
    kubeconfig = cluster.kubeconfig_for(NAMESPACE, SERVICE_ACCOUNT)
    program = command("controller.__main__", "--kubeconfig", str(kubeconfig))
    program += ["--leader-elect", "--leader-election-namespace", NAMESPACE]
    program += ["--metrics-bind-address", "0", "--health-probe-bind-address", "0"]
    cluster.run_beside("operator", program, IMPORTS, FINDABLE)
