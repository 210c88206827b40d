"""Installs the operator as a user does, and waits until it works."""

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from localcluster import Cluster, clock
from localcluster.process import Process

CHECKOUT = Path(__file__).parent.parent
MANIFESTS = CHECKOUT / "manifests" / "v1"
CRD = "paddlejobs.batch.paddlepaddle.org"
JOBS_PATH = "/apis/batch.paddlepaddle.org/v1/paddlejobs?limit=1"
NAMESPACE = "paddle-system"
DEPLOYMENT = "paddle-controller-manager"
READY_SECONDS = 150


def start_operator(cluster: Cluster, *flags: str) -> None:
    """Create the CRD and the operator, with flags of its own; return when its pod is ready."""
    install_crd(cluster)
    documents = list(yaml.safe_load_all((MANIFESTS / "operator-all-namespaces.yaml").read_text()))
    deployment = next(each for each in documents if each["kind"] == "Deployment")
    deployment["spec"]["template"]["spec"]["containers"][0]["args"] += flags
    cluster.kubectl("create", "-f", "-", stdin=yaml.safe_dump_all(documents))
    wait = ("rollout", "status", f"deployment/{DEPLOYMENT}", f"--timeout={READY_SECONDS}s")
    cluster.kubectl("-n", NAMESPACE, *wait, timeout_seconds=READY_SECONDS + 10)


def install_crd(cluster: Cluster) -> None:
    """Create the CRD and wait until its objects can be created."""
    cluster.kubectl("create", "-f", str(MANIFESTS / "crd.yaml"))

    def is_served() -> bool:  # which comes a moment after the condition Established
        return cluster.kubectl("get", "--raw", JOBS_PATH, check=False).returncode == 0

    assert clock.wait_until(is_served, READY_SECONDS), f"{CRD} is not served"


def install_without_deployment(cluster: Cluster) -> None:
    """The CRD, and the operator's account and rights, for operators that run beside."""
    install_crd(cluster)
    documents = yaml.safe_load_all((MANIFESTS / "operator-all-namespaces.yaml").read_text())
    kept = [each for each in documents if each["kind"] != "Deployment"]
    cluster.kubectl("create", "-f", "-", stdin=yaml.safe_dump_all(kept))


def run_operator(
    cluster: Cluster, namespace: str, *flags: str, account_in: str = NAMESPACE
) -> Process:
    """Run an operator for one namespace as a process beside the cluster, with its own rights.

    They are those of the account in `account_in`.
    """
    kubeconfig = cluster.kubeconfig_for(account_in, DEPLOYMENT)
    command = [sys.executable, "-m", "controller", f"--kubeconfig={kubeconfig}"]
    command += ["--metrics-bind-address=0", "--health-probe-bind-address=0"]
    command += [f"--namespace={namespace}", *flags]
    return cluster.run_beside(f"operator-{namespace}", command, CHECKOUT)


@contextlib.contextmanager
def operator_beside(
    cluster: Cluster, namespace: str, *flags: str, account_in: str = NAMESPACE
) -> Iterator[Process]:
    """The same while the block lasts; all namespaces where none is named."""
    yield run_operator(cluster, namespace, *flags, account_in=account_in)
    cluster.stop(f"operator-{namespace}")


def grant_roles(cluster: Cluster, namespace: str) -> None:
    """An account of the operator in this namespace with the rights in it, and no ClusterRole."""
    for document in yaml.safe_load_all((MANIFESTS / "operator.yaml").read_text()):
        is_right = document["kind"] in ("ServiceAccount", "Role", "RoleBinding")
        if is_right and document["metadata"]["name"] == DEPLOYMENT:
            moved = json.dumps(document).replace(NAMESPACE, namespace)
            cluster.kubectl("create", "-f", "-", stdin=moved)
