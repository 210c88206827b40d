"""Installs the operator as a user does, and waits until it works."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from localcluster import Cluster
from localcluster.cluster.components import CONTROLLER_MANAGER
from localcluster.commands.manifests import install, without
from localcluster.machine.process import Process
from manifests.rbac import KUEUE_RULES, Table, policy_rules
from tests.live import patience
from tests.live.lab import Lab
from tests.live.processes import http_get, listening_ports
from tests.live.proxy import FaultProxy

CHECKOUT = Path(__file__).parents[2]
MANIFESTS = CHECKOUT / "manifests" / "v1"
CRD = "paddlejobs.batch.paddlepaddle.org"
NAMESPACE = "paddle-system"
DEPLOYMENT = "paddle-controller-manager"
WORKLOAD = f"deployment/{DEPLOYMENT}"
SOON_LOST = {CONTROLLER_MANAGER: ["--node-monitor-grace-period=12s", "--node-monitor-period=1s"]}
"""Arguments of a cluster that notices it when a node is silent for 12 s."""


def start_operator(cluster: Cluster, *flags: str, pod_security: str = "") -> None:
    """Create the CRD and the operator, with flags of its own; return when its pod is ready.

    The namespace takes pods of this standard of Pod Security only, if one is given.
    """
    install_crd(cluster)
    documents = list(yaml.safe_load_all((MANIFESTS / "operator-all-namespaces.yaml").read_text()))
    deployment = next(each for each in documents if each["kind"] == "Deployment")
    deployment["spec"]["template"]["spec"]["containers"][0]["args"] += flags
    if pod_security:
        namespace = next(each for each in documents if each["kind"] == "Namespace")
        label = {"pod-security.kubernetes.io/enforce": pod_security}
        namespace["metadata"].setdefault("labels", {}).update(label)
    roll_out(cluster, "create", "-f", "-", stdin=yaml.safe_dump_all(documents))


def roll_out(cluster: Cluster, *change: str, stdin: str = "") -> None:
    """Change the operator's Deployment with kubectl, and wait until its pod is replaced."""
    cluster.kubectl("-n", NAMESPACE, *change, stdin=stdin)
    wait = ("rollout", "status", WORKLOAD, patience.IN_KUBECTL)
    cluster.kubectl("-n", NAMESPACE, *wait, timeout_seconds=patience.SECONDS)


@contextlib.contextmanager
def with_flag(cluster: Cluster, flag: str) -> Iterator[None]:
    """While the block lasts, the operator of the Deployment has this flag too."""
    place = "/spec/template/spec/containers/0/args/-"
    patch = json.dumps([{"op": "add", "path": place, "value": flag}])
    roll_out(cluster, "patch", WORKLOAD, "--type=json", "-p", patch)
    yield
    roll_out(cluster, "rollout", "undo", WORKLOAD)


def install_crd(cluster: Cluster) -> None:
    """Create the CRD and wait until its objects can be created."""
    install(cluster, MANIFESTS / "crd.yaml")


def install_without_deployment(cluster: Cluster) -> None:
    """The CRD, and the operator's account and rights, for operators that run beside."""
    install_crd(cluster)
    install(cluster, stdin=without("Deployment", MANIFESTS / "operator-all-namespaces.yaml"))


def grant_queues(cluster: Cluster) -> None:
    grant(cluster, "queues", KUEUE_RULES)


def grant(cluster: Cluster, name: str, rules: Table) -> None:
    """The operator's account gets these rights in all namespaces, by a ClusterRole of this name."""
    metadata, api = {"name": name}, "rbac.authorization.k8s.io"
    role = {"apiVersion": f"{api}/v1", "kind": "ClusterRole", "metadata": metadata}
    account = {"kind": "ServiceAccount", "name": DEPLOYMENT, "namespace": NAMESPACE}
    binding = {
        **role,
        "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": name},
        "subjects": [account],
    }
    for each in (role | {"rules": policy_rules(rules)}, binding):
        install(cluster, stdin=json.dumps(each))


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


@contextlib.contextmanager
def operator_that_reads_logs(cluster: Cluster, namespace: str) -> Iterator[Lab]:
    """An operator of the namespace with --progress, and with the right to read logs in it."""
    lab = Lab(cluster, namespace)
    grant_logs(lab)
    with operator_beside(cluster, namespace, "--progress"):
        yield lab


def grant_logs(lab: Lab) -> None:
    lab.kubectl("create", "role", "logs", "--verb=get", "--resource=pods/log")
    account = f"--serviceaccount={NAMESPACE}:{DEPLOYMENT}"
    lab.kubectl("create", "rolebinding", "logs", "--role=logs", account)


@contextlib.contextmanager
def operator_behind(
    proxy: FaultProxy, namespace: str, folder: Path, *flags: str, by: Sequence[str] = ()
) -> Iterator[subprocess.Popen[bytes]]:
    """An operator of one namespace that reaches the API server through a proxy.

    It tells its health on a port that the system has chosen, and its log is in the folder. `by` is
    a command that runs it.
    """
    kubeconfig = proxy.write_kubeconfig(folder / "kubeconfig")
    command = [*by, sys.executable, "-m", "controller", f"--kubeconfig={kubeconfig}"]
    command += [f"--namespace={namespace}", "--metrics-bind-address=0"]
    command += ["--health-probe-bind-address=127.0.0.1:0", *flags]
    with (folder / "log").open("ab") as log:
        operator = subprocess.Popen(command, cwd=CHECKOUT, stdout=log, stderr=log)
    try:
        yield operator
    finally:
        operator.kill()
        operator.wait()


def readiness(operator: subprocess.Popen[bytes]) -> int:
    """The status with which the operator answers /readyz."""
    return readyz(operator.pid)[0]


def readyz(pid: int) -> tuple[int, str]:
    """Status and text with which the operator of this process answers; 0 before it listens."""
    if not (ports := listening_ports(pid)):
        return 0, ""
    (port,) = ports
    return http_get(f"http://127.0.0.1:{port}/readyz")


def grant_roles(cluster: Cluster, namespace: str) -> None:
    """An account of the operator in this namespace with the rights in it, and no ClusterRole."""
    for document in yaml.safe_load_all((MANIFESTS / "operator.yaml").read_text()):
        is_right = document["kind"] in ("ServiceAccount", "Role", "RoleBinding")
        if is_right and document["metadata"]["name"] == DEPLOYMENT:
            moved = json.dumps(document).replace(NAMESPACE, namespace)
            cluster.kubectl("create", "-f", "-", stdin=moved)
