"""What keeps a job that is to go, or pods of its last attempt: which child, held by what."""

import pytest

from api.objects import Raw
from reconcile.children.terminating import await_leavers
from tests.memory.builders import (
    a_job,
    a_pod,
    hold_of,
    plan_of,
    stamp,
    status_of,
    view_of,
    wait_of,
)

PROTECTION = "scheduling.k8s.io/podgroup-protection"
DELETED = (
    a_job()
    .with_workers(2)
    .with_metadata(
        deletionTimestamp=stamp(), deletionGracePeriodSeconds=0, finalizers=["foregroundDeletion"]
    )
)
JOB = DELETED.build()


def group(**metadata: object) -> Raw:
    metadata = {"name": "train-0123abcd", "uid": "g", "deletionTimestamp": stamp(2)} | metadata
    return {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": metadata}


@pytest.mark.parametrize("seconds", [0, 11])
def test_usual_end_is_not_told(seconds):
    view = view_of(JOB, pod_groups=(group(),), seconds=seconds)
    assert hold_of(view) is None
    hold = await_leavers(view)
    assert hold is not None
    assert hold.seconds == 12 - seconds


def test_grace_of_a_pod_is_no_delay():
    pod = a_pod(JOB).running().deleting(30).build()
    pod["metadata"]["deletionGracePeriodSeconds"] = 30
    assert hold_of(view_of(JOB, pod, seconds=39)) is None
    assert (
        wait_of(view_of(JOB, pod, seconds=40)).cause
        == "waiting for Pod train-worker-0 on node-1 since 03:04:05Z"
    )


@pytest.mark.parametrize("seconds", [10**12, 2**63 - 1])
def test_grace_beyond_the_calendar_is_long(seconds):
    pod = a_pod(JOB).running().deleting(30).build()
    pod["metadata"]["deletionGracePeriodSeconds"] = seconds
    wait = wait_of(view_of(JOB, pod, seconds=60))
    assert wait.cause.startswith("waiting for Pod train-worker-0 on node-1 since")


def test_first_that_stays_is_told_and_the_others_counted():
    groups = tuple(group(name=f"group-{index}") for index in (2, 1, 3))
    assert (
        wait_of(view_of(JOB, pod_groups=groups, seconds=60)).cause
        == "waiting for PodGroup group-1 since 03:04:07Z (and 2 more)"
    )


def test_child_that_nobody_deletes_is_told():
    assert (
        wait_of(view_of(JOB, a_pod(JOB), seconds=60)).cause
        == "waiting for Pod train-worker-0, not deleted since 03:04:05Z"
    )


@pytest.mark.parametrize("pods", [(), (a_pod(JOB).running(),)], ids=["gone", "run on"])
def test_finalizer_of_the_job_is_told_where_nobody_waits_for_its_children(pods):
    """Deleted in the background, a job that is held keeps its pods."""
    held = {**JOB, "metadata": {**JOB["metadata"], "finalizers": ["example.com/hold"]}}
    wait = wait_of(view_of(held, *pods, seconds=60))
    assert "the job itself, held by its finalizer example.com/hold" in wait.cause


def test_job_without_children_or_another_finalizer_waits_for_nothing():
    assert hold_of(view_of(JOB, seconds=60)) is None


def test_job_says_so_with_one_write():
    children = (group(finalizers=[PROTECTION]),)
    first = plan_of(view_of(JOB, pod_groups=children))
    status = status_of(first)
    assert (status["phase"], first.requeue_after) == ("Terminating", 12)
    told = status_of(plan_of(view_of({**JOB, "status": status}, pod_groups=children, seconds=12)))
    assert told["reason"] == "ChildrenTerminating"
    job = {**JOB, "status": {**status, **told}}
    assert plan_of(view_of(job, pod_groups=children, seconds=3600)).status is None


def test_pod_of_the_last_attempt_that_stays_is_named():
    job = a_job().with_workers(2).with_status(attempt=2, phase="Restarting").build()
    pod = a_pod(job).running().deleting(0).build()
    usual = wait_of(view_of(job, pod))
    assert usual.cause == "waiting for the 1 pod of the last attempt to go"
    wait = wait_of(view_of(job, pod, seconds=10))
    assert wait.cause == f"{usual.cause}: Pod train-worker-0 on node-1 since 03:04:05Z"


def test_no_pod_starts_beside_children_of_a_former_job():
    job = a_job().with_workers(2)
    plan = plan_of(view_of(job, former_children=("ConfigMap train", "Pod train-worker-1")))
    assert not plan.creates
    assert "ConfigMap train of a former job of this name" in status_of(plan)["message"]
    assert plan_of(view_of(job)).creates
