"""This project's operator on a local cluster: its manifests, and its process beside."""

import sys
from pathlib import Path

from localcluster.cluster.cluster import Cluster
from localcluster.commands import manifests

ROOT = Path(__file__).resolve().parents[2]
MANIFESTS = ROOT / "manifests" / "v1"
NAMESPACE = "paddle-system"
SERVICE_ACCOUNT = "paddle-controller-manager"


def install_operator(cluster: Cluster) -> None:
    """All of the operator's manifests but its Deployment: it runs as a process beside."""
    manifests.install(cluster, MANIFESTS / "crd.yaml")
    operator = MANIFESTS / "operator-all-namespaces.yaml"
    manifests.install(cluster, stdin=manifests.without("Deployment", operator))


def start_operator(cluster: Cluster) -> None:
    """The operator of all namespaces, with the token and so the rights of its ServiceAccount."""
    kubeconfig = cluster.kubeconfig_for(NAMESPACE, SERVICE_ACCOUNT)
    command = [sys.executable, "-m", "controller", "--kubeconfig", str(kubeconfig)]
    command += ["--leader-elect", "--leader-election-namespace", NAMESPACE]
    command += ["--metrics-bind-address", "0", "--health-probe-bind-address", "0"]
    cluster.run_beside("operator", command, ROOT)
