"""Each check of a soak is shown a world that breaks its rule, and one that does not."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from api.constants import API_VERSION, LABEL_JOB_UID
from reconcile.model.plan import Observed, Settings
from reconcile.reconcile import reconcile
from tests.memory.builders import a_job
from tests.soak.audit import WriteLog
from tests.soak.checks import (
    Expectation,
    Listing,
    check_ends,
    check_foreign,
    check_log,
    check_nothing_to_do,
    check_orphans,
    check_rest,
    check_status,
    is_lost,
)

Raw = dict[str, Any]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
WELL = {"type": "Completed", "status": "True", "reason": "WorkersSucceeded", "message": "2 ended"}


def job_with(**status: Any) -> Raw:
    metadata: Raw = {"name": "train", "namespace": "a", "uid": "job", "generation": 2}
    status = {"phase": "Completed", "conditions": [WELL], "observedGeneration": 2, **status}
    return {"kind": "PaddleJob", "metadata": metadata, "spec": {}, "status": status}


def child(kind: str = "Pod", uid: str = "job", **fields: Any) -> Raw:
    owner = {"apiVersion": API_VERSION, "kind": "PaddleJob", "name": "train", "uid": uid}
    labels = {LABEL_JOB_UID: uid, "batch.paddlepaddle.org/role": "worker"}
    metadata: Raw = {"name": "train-worker-0", "namespace": "a", "uid": "child", "labels": labels}
    metadata["ownerReferences"] = [{**owner, "controller": True}]
    return {"kind": kind, "metadata": metadata, "status": {"phase": "Running"}, **fields}


def listing(*jobs: Raw, **children: list[Raw]) -> Listing:
    return Listing(list(jobs), {"Pod": [], "Service": [], "ConfigMap": [], **children})


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ({"phase": "Failed"}, "is Failed and not Completed"),
        ({"conditions": []}, "does not say why"),
        ({"conditions": [WELL | {"message": ""}]}, "does not say why"),
        ({"conditions": [WELL | {"status": "False"}]}, "does not say why"),
        ({"restartCount": 1}, "was restarted, and nothing had happened to it"),
        ({"failures": [{"exitCode": 99}]}, "told other peers than its own"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_end_is_seen(status: Raw, told: str) -> None:
    (wrong,) = check_ends(job_with(**status), Expectation("Completed"))
    assert told in wrong


def test_an_end_as_it_had_to_be_is_well() -> None:
    assert not check_ends(job_with(), Expectation("Completed"))
    restarted = job_with(restartCount=1, failures=[{"exitCode": 4}])
    assert not check_ends(restarted, Expectation("Completed", is_touched=True))
    assert not check_ends(restarted, Expectation("Completed", may_restart=True))


def test_only_a_wrong_end_is_beyond_hope() -> None:
    assert is_lost(job_with(phase="Failed"), Expectation("Completed"))
    assert not is_lost(job_with(), Expectation("Completed"))
    assert not is_lost(job_with(phase="Restarting"), Expectation("Completed"))


def test_a_count_that_is_not_that_of_the_pods_is_seen() -> None:
    running = job_with(phase="Running", worker={"running": 1})
    assert not check_status(running, listing(running, Pod=[child()]))
    (wrong,) = check_status(running, listing(running))
    assert "tells of 1 running worker pods, and 0 run" in wrong


def test_a_status_of_an_older_spec_is_seen() -> None:
    old = job_with(observedGeneration=1)
    assert "has not seen generation 2" in check_status(old, listing(old))[0]


def test_a_job_without_its_pods_has_something_to_do() -> None:
    job = a_job().with_workers(2).build()
    (create, *_) = check_nothing_to_do(job, listing(job), NOW, Settings())
    assert "still to create: ['train-worker-0', 'train-worker-1']" in create


def test_a_job_whose_status_says_all_has_nothing_to_do() -> None:
    job = a_job().with_workers(2).with_spec(suspend=True).build()
    observed = Observed(job=job)
    for _ in range(3):
        plan = reconcile(observed, NOW, Settings())
        job = {**job, "status": (job.get("status") or {}) | (plan.status or {}).get("status", {})}
        observed = Observed(job=job)
    assert not check_nothing_to_do(job, listing(job), NOW, Settings())


@pytest.mark.parametrize("kind", ["Pod", "Service", "ConfigMap"])
def test_an_orphan_is_seen(kind: str) -> None:
    orphan = listing(**{kind: [child(kind)]})
    assert check_orphans(orphan) == [f"{kind} a/train-worker-0 belongs to a job that is gone"]
    assert not check_orphans(listing(job_with(), **{kind: [child(kind)]}))


@pytest.mark.parametrize(
    "after",
    [
        [],
        [child(spec={"nodeName": "another"})],
        [child(metadata=child()["metadata"] | {"labels": {}})],
        [child(metadata=child()["metadata"] | {"deletionTimestamp": "now"})],
    ],
    ids=["gone", "changed", "relabelled", "deleted"],
)
def test_a_foreign_object_that_was_touched_is_seen(after: list[Raw]) -> None:
    assert len(check_foreign([child()], after)) == 1
    written = child(status={"phase": "Pending"})
    written["metadata"]["resourceVersion"] = "9"
    assert not check_foreign([child()], [written])
    assert check_foreign([job_with()], [job_with(phase="Failed")])


def test_writes_at_rest_and_exceptions_in_the_log_are_seen() -> None:
    assert check_rest(["patch paddlejobs/status a/train: 200"])
    assert not check_rest([])
    assert check_log("operator-a", "all well\nTraceback (most recent call last):\n  boom")
    assert not check_log("operator-a", "all well")


def entry(user: str = "operator", verb: str = "patch", resource: str = "pods", **more: Any) -> str:
    what = {"resource": resource, "namespace": "a", "name": "x"}
    answer = {"responseStatus": {"code": 200}, "stage": "ResponseComplete"}
    return json.dumps(
        {"user": {"username": user}, "verb": verb, "objectRef": what, **answer, **more}
    )


def test_writes_of_the_account_are_read_once(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    others = [entry(user="kubelet"), entry(verb="watch"), entry(resource="leases")]
    path.write_text("\n".join([entry(), *others]) + "\n" + entry()[:20])
    log = WriteLog(path, "operator")
    assert log.take() == ["patch pods a/x: 200"]
    with path.open("a") as file:
        file.write(entry()[20:] + "\n")
    assert log.take() == ["patch pods a/x: 200"]
    assert log.totals == {"patch pods": 2}


def test_a_refused_write_is_told_and_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_text(entry(verb="create", responseStatus={"code": 403}) + "\n")
    log = WriteLog(path, "operator")
    assert log.take() == ["create pods a/x: 403"]
    assert not log.totals
