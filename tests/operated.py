"""Installs the operator as a user does, and waits until it works."""

from pathlib import Path

from localcluster import Cluster, clock

MANIFESTS = Path(__file__).parent.parent / "manifests" / "v1"
CRD = "paddlejobs.batch.paddlepaddle.org"
NAMESPACE = "paddle-system"
DEPLOYMENT = "paddle-controller-manager"
READY_SECONDS = 60


def start_operator(cluster: Cluster, file: str = "operator-all-namespaces.yaml") -> None:
    """Create the CRD and the operator; return when its pod is ready."""
    install_crd(cluster)
    cluster.kubectl("create", "-f", str(MANIFESTS / file))
    wait = ("rollout", "status", f"deployment/{DEPLOYMENT}", f"--timeout={READY_SECONDS}s")
    cluster.kubectl("-n", NAMESPACE, *wait, timeout_seconds=READY_SECONDS + 10)


def install_crd(cluster: Cluster) -> None:
    """Create the CRD and wait until its objects can be created."""
    cluster.kubectl("create", "-f", str(MANIFESTS / "crd.yaml"))

    def is_served() -> bool:  # `kubectl wait` gives up on an object without conditions
        get = ("get", "crd", CRD, "-o", "jsonpath={.status.conditions[*].type}")
        return "Established" in cluster.kubectl(*get).stdout

    assert clock.wait_until(is_served, READY_SECONDS), f"{CRD} is not established"
