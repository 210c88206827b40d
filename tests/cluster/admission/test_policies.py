"""deploy/policies: what a platform sets and forbids, on the real API server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from api.objects import Raw
from localcluster import Cluster
from localcluster.machine import clock
from tests.live import patience
from tests.live.apiserver import DRY_RUN, ApiServer, jobs_path
from tests.memory.builders import JobBuilder, a_job

POLICIES = Path(__file__).parents[3] / "deploy" / "policies"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
LABELS = {"batch.paddlepaddle.org/policies": "enforced", "batch.paddlepaddle.org/queue": "team-a"}
QUEUE = "kueue.x-k8s.io/queue-name"


@pytest.fixture(scope="module")
def namespace(cluster: Cluster, crd: None) -> Iterator[str]:
    """A namespace for which both policies hold already."""
    server, made = ApiServer(cluster), []
    name = server.create_namespace()
    assert server.merge_patch(f"/api/v1/namespaces/{name}", {"metadata": {"labels": LABELS}}).is_ok
    files = [(POLICIES / name).read_text() for name in ("limits.yaml", "defaults.yaml")]
    # The limits that are tried below come last: who sees them sees those of the scale as well.
    for each in reversed([each for text in files for each in yaml.safe_load_all(text)]):
        kind = each["kind"].lower()
        plural = f"{kind[:-1]}ies" if kind.endswith("policy") else f"{kind}s"
        answer = server.create(f"{ADMISSION}/{plural}", each)
        assert answer.is_ok, answer.message
        made.append(f"{ADMISSION}/{plural}/{each['metadata']['name']}")

    def hold() -> bool:
        """The limits refuse, and the defaults make a job that they take."""
        return bool(refused(cluster, name, wide(65))) and not refused(cluster, name, wide(1))

    assert clock.wait_until(hold, patience.SECONDS, 0.5)
    yield name
    for path in reversed(made):
        cluster.client.send("DELETE", path)


def refused(cluster: Cluster, namespace: str, job: JobBuilder) -> str:
    """Why the API server does not take the job; empty where it does."""
    body = job.build() | {"metadata": {"name": "tried"}}
    return ApiServer(cluster).create(jobs_path(namespace), body, DRY_RUN).message


def made_of(cluster: Cluster, namespace: str, **spec: Any) -> Raw:
    """The spec with which a job would be created, and its queue."""
    body = a_job().with_workers(1).with_spec(**spec).build() | {"metadata": {"name": "tried"}}
    made = cluster.client.create(f"{jobs_path(namespace)}?{DRY_RUN}", body)
    return {**made["spec"], "queue": (made["metadata"].get("labels") or {}).get(QUEUE)}


def wide(workers: int) -> JobBuilder:
    return a_job().with_workers(workers)


@pytest.mark.parametrize(
    ("job", "said"),
    [
        pytest.param(wide(65), "a job may have 64 pods here, not 65", id="pods"),
        pytest.param(a_job().with_elastic_workers(2, 1, 70), "not 70", id="elastic pods"),
        pytest.param(wide(2).with_spec(intranet="Host"), "intranet: Host", id="host"),
        pytest.param(wide(1).with_spec(ttlSecondsAfterFinished=2592001), "30 days", id="ttl"),
        pytest.param(wide(1).with_spec(backoffLimit=21), "backoffLimit is 20", id="backoff"),
        pytest.param(wide(1).with_spec(startingDeadlineSeconds=86401), "a day", id="starting"),
    ],
)
def test_limits_refuse_with_a_reason(cluster, namespace, job, said):
    assert said in refused(cluster, namespace, job)


def test_queue_is_the_namespaces(cluster: Cluster, namespace: str) -> None:
    assert made_of(cluster, namespace)["queue"] == "team-a"
    body = wide(1).build() | {"metadata": {"name": "tried", "labels": {QUEUE: "team-b"}}}
    said = ApiServer(cluster).create(jobs_path(namespace), body, DRY_RUN).message
    assert "the jobs of this namespace wait in the queue team-a" in said


def test_defaults_fill_what_is_unset_and_nothing_else(cluster: Cluster, namespace: str) -> None:
    made = made_of(cluster, namespace)
    names = ("ttlSecondsAfterFinished", "backoffLimit", "startingDeadlineSeconds")
    assert [made[name] for name in names] == [604800, 3, 86400]
    own = made_of(cluster, namespace, ttlSecondsAfterFinished=5, backoffLimit=0)
    assert [own[name] for name in names] == [5, 0, 86400]


def test_a_job_from_before_can_still_be_suspended(cluster: Cluster, namespace: str) -> None:
    server = ApiServer(cluster)
    path = f"/api/v1/namespaces/{namespace}"
    assert server.merge_patch(path, {"metadata": {"labels": dict.fromkeys(LABELS)}}).is_ok
    try:
        old = wide(65).with_spec(intranet="Host", suspend=True)
        assert clock.wait_until(lambda: not refused(cluster, namespace, old), patience.SECONDS, 0.5)
        body = old.build() | {"metadata": {"name": "old"}}
        assert server.create(jobs_path(namespace), body).is_ok
    finally:
        assert server.merge_patch(path, {"metadata": {"labels": LABELS}}).is_ok
    assert clock.wait_until(
        lambda: bool(refused(cluster, namespace, wide(65))), patience.SECONDS, 0.5
    )
    grown = {"spec": {"worker": {"replicas": 66}}}
    assert "not 66" in server.merge_patch(jobs_path(namespace, "old"), grown).message
    answer = server.merge_patch(jobs_path(namespace, "old"), {"spec": {"suspend": False}})
    assert answer.is_ok, answer.message


def test_no_update_goes_past_the_limits(cluster: Cluster, namespace: str) -> None:
    server = ApiServer(cluster)
    body = wide(2).with_spec(suspend=True).build() | {"metadata": {"name": "later"}}
    assert server.create(jobs_path(namespace), body).is_ok
    path = jobs_path(namespace, "later")
    for change, said in (
        ({"spec": {"ttlSecondsAfterFinished": None}}, "30 days"),
        ({"spec": {"backoffLimit": 21}}, "backoffLimit is 20"),
        ({"spec": {"worker": {"replicas": 65}}}, "not 65"),
        ({"metadata": {"labels": {QUEUE: "team-b"}}}, "wait in the queue team-a"),
    ):
        assert said in server.merge_patch(path, change).message, change
    scale = jobs_path(namespace, "later", "scale")
    said = server.merge_patch(scale, {"spec": {"replicas": 65}}).message
    assert "a job may have 64 workers here, not 65" in said
    answer = server.merge_patch(scale, {"spec": {"replicas": 3}})
    assert answer.is_ok, answer.message
