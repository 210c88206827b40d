"""--kueue on a real API server: a stand-in of Kueue's Workload API, admitted by the test."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.constants import Reason
from localcluster import Cluster
from localcluster.commands.manifests import install
from tests.conftest import new_namespace
from tests.live.lab import Lab, paddle_job, shell
from tests.live.operated import grant_queues, operator_beside
from tests.live.pdj import assert_explained

CRD = Path(__file__).parents[2] / "live" / "crds" / "kueue-workload.yaml"
API = "/apis/kueue.x-k8s.io/v1beta2"


@pytest.fixture
def lab(unattended: Cluster) -> Iterator[Lab]:
    """An operator with the flag and its rights; no Kueue yet."""
    grant_queues(unattended)
    with (
        new_namespace(unattended) as namespace,
        operator_beside(unattended, namespace, "--kueue"),
    ):
        yield Lab(unattended, namespace)
        unattended.kubectl("delete", "-f", str(CRD))


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


@pytest.mark.timeout(300)
def test_job_is_held_admitted_and_evicted(lab: Lab) -> None:
    job = paddle_job("train", {"worker": (2, shell("sleep 3600"))})
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
    lab.submit(job)
    assert_explained(lab, "train", Reason.QUEUE_UNAVAILABLE)
    install(lab.cluster, CRD)
    lab.wait(lambda: lab.items(API, "workloads"), "a Workload", 100)
    tell(lab, {"QuotaReserved": ("False", "WaitingForQuota")})
    assert_explained(lab, "train", Reason.QUEUED, kueues="WaitingForQuota")
    assert lab.pods("train") == []
    assigned = {"podSetAssignments": [{"name": "worker", "count": 2}]}
    admitted = {"QuotaReserved": ("True", "Reserved"), "Admitted": ("True", "Admitted")}
    tell(lab, admitted, admission=assigned)
    lab.wait_phase("train", "Running")
    tell(lab, admitted | {"Evicted": ("True", "Preempted")})
    assert_explained(lab, "train", Reason.EVICTED, kueues="Preempted")
    lab.wait(lambda: "admission" not in lab.items(API, "workloads")[0]["status"], "quota is back")
    assert lab.pods("train") == []
    assert_explained(lab, "train", Reason.QUEUED, kueues="PendingEvaluation")
