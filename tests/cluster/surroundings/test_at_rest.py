"""What a settled operator costs: nothing.

Finished jobs and some that run, then half a minute in which the API server's own audit log must
hold no write of the operator's. `make bench` has 11,000 jobs.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kube.client import MERGE_PATCH
from localcluster import Cluster, ClusterConfig
from localcluster.machine import clock
from tests.live.lab import CORE, PADDLE_JOBS, Lab, paddle_job, shell
from tests.live.operated import install_crd
from tests.live.proxy import audit_entries

ROOT = Path(__file__).parents[3]
FINISHED = 200
RUNNING = 20
REST_SECONDS = 35.0
"""Longer than the longest back-off: whatever would come again has come."""
NAMESPACE = "crowd"
OPERATOR = "system:serviceaccount:crowd:operator"
TEMPLATE = shell("sleep 3600")


@pytest.fixture(scope="module")
def crowd() -> Iterator[Lab]:
    """A cluster of simulated pods: a test plays the kubelet, so that they cost no processes."""
    with Cluster(ClusterConfig(nodes=0)) as running:
        install_crd(running)
        running.kubectl("create", "namespace", NAMESPACE)
        running.kubectl("create", "-n", NAMESPACE, "serviceaccount", "operator")
        grant = ("--clusterrole=cluster-admin", f"--serviceaccount={NAMESPACE}:operator")
        running.kubectl("create", "clusterrolebinding", "operator", *grant)
        running.stop("kube-controller-manager")  # it would clear away pods on no node
        yield Lab(running, NAMESPACE)


@pytest.mark.timeout(600)
def test_nothing_is_written_at_rest(crowd: Lab, tmp_path: Path) -> None:
    make_jobs(crowd)
    kubeconfig = crowd.cluster.kubeconfig_for(NAMESPACE, "operator")
    command = [sys.executable, "-m", "controller", "--kubeconfig", str(kubeconfig)]
    command += ["--leader-elect", "--leader-election-namespace", NAMESPACE]
    command += ["--metrics-bind-address", "0", "--health-probe-bind-address", "0"]
    with (tmp_path / "log").open("wb") as log:
        operator = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
    try:
        run_pods(crowd)
        crowd.wait(lambda: phases(crowd).get("Running") == RUNNING, "all run")
        assert phases(crowd) == {"Completed": FINISHED, "Running": RUNNING}
        wait_for_rest(crowd)
        assert operator.poll() is None
    finally:
        operator.terminate()
        operator.wait()


def make_jobs(lab: Lab) -> None:
    """Create all jobs; those that have finished get the status of jobs that have."""
    path = f"{PADDLE_JOBS}/namespaces/{NAMESPACE}/paddlejobs"
    client = lab.cluster.client

    def make(number: int) -> None:
        name = f"job-{number:04d}"
        client.create(path, paddle_job(name, {"worker": (2, TEMPLATE)}))
        if number < FINISHED:
            client.patch(f"{path}/{name}/status", {"status": FINISHED_STATUS}, MERGE_PATCH)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make, range(FINISHED + RUNNING)))


FINISHED_STATUS: dict[str, Any] = {
    "phase": "Completed",
    "mode": "Collective",
    "attempt": 1,
    "startTime": "2026-01-01T00:00:00Z",
    "completionTime": "2026-01-01T01:00:00Z",
}


def run_pods(lab: Lab) -> None:
    """Be the scheduler and the kubelet of the pods that the operator makes."""
    client = lab.cluster.client
    pods = lab.wait(lambda: all_pods(lab, 2 * RUNNING), "pods are made")

    def run(numbered: tuple[int, dict[str, Any]]) -> None:
        number, pod = numbered
        path = f"{CORE}/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}"
        client.create(
            f"{path}/binding",
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": pod["metadata"]["name"]},
                "target": {"kind": "Node", "name": "imaginary"},
            },
        )
        address = f"10.0.{number // 200}.{number % 200 + 1}"
        client.patch(f"{path}/status", {"status": running_status(address)}, MERGE_PATCH)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, enumerate(pods)))


def running_status(address: str) -> dict[str, Any]:
    """The status of a pod whose container runs."""
    started = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    container = {"name": "paddle", "image": "busybox", "imageID": "", "ready": True}
    return {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "containerStatuses": [{**container, "restartCount": 0, "state": started}],
    }


def all_pods(lab: Lab, count: int) -> list[dict[str, Any]]:
    """The pods, once there are so many; empty before."""
    pods = lab.items(CORE, "pods")
    return pods if len(pods) == count else []


def phases(lab: Lab) -> dict[str, int]:
    """How many jobs are in each phase."""
    found: dict[str, int] = {}
    for job in lab.items(PADDLE_JOBS, "paddlejobs"):
        phase = (job.get("status") or {}).get("phase", "")
        found[phase] = found.get(phase, 0) + 1
    return found


def wait_for_rest(lab: Lab) -> None:
    """Wait until the operator has written nothing for so long."""
    seen = [-1, 0.0]

    def is_quiet() -> bool:
        count = len(operator_writes(lab.cluster))
        if count != seen[0]:
            seen[:] = [count, clock.monotonic()]
        return clock.monotonic() - seen[1] > REST_SECONDS

    lab.wait(is_quiet, "the operator rests")


def operator_writes(cluster: Cluster) -> list[str]:
    """What the operator has changed so far, its Lease aside."""
    return [
        json.dumps([entry["verb"], entry.get("objectRef")])
        for entry in audit_entries(cluster)
        if entry["user"]["username"] == OPERATOR
        and entry["verb"] not in ("get", "list", "watch")
        and (entry.get("objectRef") or {}).get("resource") != "leases"
    ]
