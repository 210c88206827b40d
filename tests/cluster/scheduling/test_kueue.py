"""--kueue on a real API server: a stand-in of Kueue's Workload API, admitted by the test."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.constants import Reason
from localcluster import Cluster
from localcluster.commands.manifests import install
from localcluster.machine import clock
from tests.conftest import new_namespace
from tests.live import patience
from tests.live.lab import Lab, paddle_job, shell
from tests.live.operated import grant_queues, operator_beside
from tests.live.pdj import assert_explained

CRD = Path(__file__).parents[2] / "live" / "crds" / "kueue-workload.yaml"
API = "/apis/kueue.x-k8s.io/v1beta2"
ADMITTED = {"QuotaReserved": ("True", "Reserved"), "Admitted": ("True", "Admitted")}


@pytest.fixture(scope="module")
def granted(unattended: Cluster) -> Cluster:
    grant_queues(unattended)
    return unattended


@pytest.fixture
def lab(granted: Cluster) -> Iterator[Lab]:
    """An operator with the flag and its rights; no Kueue yet."""
    with (
        new_namespace(granted) as namespace,
        operator_beside(granted, namespace, "--kueue"),
    ):
        yield Lab(granted, namespace)
        granted.kubectl("delete", "-f", str(CRD))
        # The API server serves it for a moment longer, and would forget a new one then.
        assert clock.wait_until(lambda: not granted.client.is_ok(API), patience.SECONDS)


def tell(lab: Lab, conditions: dict[str, tuple[str, str]], **status: Any) -> None:
    """Write the status of the only Workload, as Kueue does."""
    told = [
        {
            "type": type_,
            "status": value,
            "reason": reason,
            "message": "as the test wants",
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        }
        for type_, (value, reason) in conditions.items()
    ]
    (workload,) = lab.items(API, "workloads")
    path = f"workloads/{workload['metadata']['name']}/status"
    lab.patch(API, path, status={"conditions": told, **status})


def submit(lab: Lab) -> None:
    """A job of two workers in a queue."""
    job = paddle_job("train", {"worker": (2, shell("sleep 3600"))})
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
    lab.submit(job)


def admit(lab: Lab, workers: int) -> None:
    assigned = {"podSetAssignments": [{"name": "worker", "count": workers}]}
    tell(lab, ADMITTED, admission=assigned)


def test_job_is_held_admitted_and_evicted(lab: Lab) -> None:
    submit(lab)
    assert_explained(lab, "train", Reason.QUEUE_UNAVAILABLE)
    install(lab.cluster, CRD)
    lab.wait(lambda: lab.items(API, "workloads"), "a Workload")
    tell(lab, {"QuotaReserved": ("False", "WaitingForQuota")})
    assert_explained(lab, "train", Reason.QUEUED, kueues="WaitingForQuota")
    assert lab.pods("train") == []
    admit(lab, 2)
    lab.wait_phase("train", "Running")
    tell(lab, ADMITTED | {"Evicted": ("True", "Preempted")})
    assert_explained(lab, "train", Reason.EVICTED, kueues="Preempted")
    lab.wait(lambda: "admission" not in lab.items(API, "workloads")[0]["status"], "quota is back")
    assert lab.pods("train") == []
    assert_explained(lab, "train", Reason.QUEUED, kueues="PendingEvaluation")


def test_job_that_comes_back_larger_is_queued_anew(lab: Lab) -> None:
    """Kueue never says that the quota of the suspended job is to be given back."""
    install(lab.cluster, CRD)
    submit(lab)
    lab.wait(lambda: lab.items(API, "workloads"), "a Workload")
    admit(lab, 2)
    lab.wait_phase("train", "Running")
    lab.kubectl("patch", "pdj", "train", "--type=merge", '--patch={"spec": {"suspend": true}}')
    lab.wait_phase("train", "Suspended")
    larger = '--patch={"spec": {"suspend": false, "worker": {"replicas": 5}}}'
    lab.kubectl("patch", "pdj", "train", "--type=merge", larger)

    def is_asked_for() -> bool:
        counts = [each["spec"]["podSets"][0]["count"] for each in lab.items(API, "workloads")]
        return counts == [5]

    lab.wait(is_asked_for, "a Workload for five pods")
    assert lab.pods("train") == []
    admit(lab, 5)
    lab.wait_phase("train", "Running")
    assert len(lab.pods("train")) == 5
