"""`make run`: from nothing to a trained model, with what happens shown as it happens.

Starts a local Kubernetes control plane and node, installs the CRD and the operator's own
ServiceAccount and roles, runs the operator under that account's token, submits a PaddleJob and
follows it. Exit code 0 when the job completes, 1 when it fails, with its last words.
"""

import argparse
import sys
import time
from pathlib import Path

import yaml

from examples.quickstart.follow import Follower
from localcluster import Cluster, ClusterConfig, manifests
from localcluster.environments import ensure_environment
from localcluster.errors import LocalClusterError

ROOT = Path(__file__).resolve().parents[2]
MANIFESTS = ROOT / "manifests" / "v1"
JOB = Path(__file__).with_name("job.yaml")
NAMESPACE = "paddle-system"
SERVICE_ACCOUNT = "paddle-controller-manager"
NOT_LINUX = (
    "This runs Kubernetes as plain processes, which takes Linux (127.0.0.0/8 as addresses, mount\n"
    "namespaces). Elsewhere, bring a cluster (kind or minikube, say) and install the operator:\n"
    "  kubectl create -f manifests/v1/crd.yaml -f manifests/v1/operator.yaml"
)


def main() -> int:
    """Set up, run, follow; the process's exit code."""
    parser = argparse.ArgumentParser(prog="make run", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=JOB, help="the PaddleJob to submit")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for the job")
    options = parser.parse_args()
    if sys.platform != "linux":
        print(NOT_LINUX)
        return 1
    try:
        return run(options.file, options.timeout)
    except LocalClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; nothing is left running", file=sys.stderr)
        return 130


def run(file: Path, timeout_seconds: float) -> int:
    """One job on a cluster of its own."""
    started = time.monotonic()
    name = job_name(file)
    ensure_environment("examples", print)
    say(started, "starting etcd, kube-apiserver, controller-manager, scheduler and a node")
    with Cluster(ClusterConfig(nodes=1)) as cluster:
        say(started, "installing the CRD, the operator's account and its roles")
        install(cluster)
        say(started, "starting the operator")
        start_operator(cluster)
        say(started, f"kubectl create -f {file}")
        print(cluster.kubectl("-n", NAMESPACE, "create", "-f", str(file)).stdout, end="")
        return Follower(cluster, NAMESPACE, name).follow(timeout_seconds)


def job_name(file: Path) -> str:
    """The name of the PaddleJob in the file; raises LocalClusterError where there is none."""
    try:
        documents = list(yaml.safe_load_all(file.read_text()))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise LocalClusterError(f"cannot read {file}: {error}") from error
    for document in documents:
        if isinstance(document, dict) and document.get("kind") == "PaddleJob":
            name = (document.get("metadata") or {}).get("name")
            if name:
                return str(name)
    raise LocalClusterError(f"no PaddleJob with a name in {file}")


def say(started: float, what: str) -> None:
    """A line of progress, with the seconds since the start."""
    print(f"[{time.monotonic() - started:5.1f} s] {what}", flush=True)


def install(cluster: Cluster) -> None:
    """All of the operator's manifests but its Deployment: it runs as a process beside."""
    manifests.install(cluster, MANIFESTS / "crd.yaml")
    manifests.install(cluster, stdin=manifests.without("Deployment", MANIFESTS / "operator.yaml"))


def start_operator(cluster: Cluster) -> None:
    """The operator, with the token and so the rights of its ServiceAccount."""
    kubeconfig = cluster.kubeconfig_for(NAMESPACE, SERVICE_ACCOUNT)
    command = [sys.executable, "-m", "controller", "--kubeconfig", str(kubeconfig)]
    command += ["--namespace", NAMESPACE, "--leader-elect"]
    command += ["--leader-election-namespace", NAMESPACE]
    command += ["--metrics-bind-address", "0", "--health-probe-bind-address", "0"]
    cluster.run_beside("operator", command, ROOT)


if __name__ == "__main__":
    sys.exit(main())
