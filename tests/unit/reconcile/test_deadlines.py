"""Deadlines are read off timestamps in status, so a restart of the operator loses none."""

import pytest

from reconcile.attempt.catch_up import MAX_ATTEMPT
from tests.memory.builders import a_job, a_pod


def test_active_deadline_fails_the_job(world):
    world.run(a_job().with_ps(1).with_workers(1).with_spec(activeDeadlineSeconds=60))
    assert world.settle().requeue_after == 60
    world.after(59)
    assert world.phase() == "Running"
    world.after(1)
    assert world.condition("Failed")["reason"] == "DeadlineExceeded"
    assert "60 s" in world.condition("Failed")["message"]


def test_active_deadline_spans_attempts(world):
    world.run(a_job().with_workers(1).with_spec(activeDeadlineSeconds=60, backoffLimit=9))
    world.advance(50)
    world.kubelet.see_end("train-worker-0", 1)
    world.after(10)
    assert world.condition("Failed")["reason"] == "DeadlineExceeded"


def test_active_deadline_begins_anew_with_a_resume(world):
    world.run(a_job().with_workers(1).with_spec(activeDeadlineSeconds=60))
    world.advance(50)
    world.edit_spec(suspend=True)
    assert world.settle().requeue_after is None
    world.kubelet.reap_all()
    world.advance(1000)
    world.edit_spec(suspend=False)
    world.run()
    world.after(59)
    assert world.phase() == "Running"


def test_deadline_ends_a_job_that_a_pod_of_a_later_attempt_holds_up(world):
    world.begin(a_job().with_workers(1).with_spec(activeDeadlineSeconds=60))
    world.put(a_pod(world.job(), attempt=MAX_ATTEMPT + 1).build())
    world.advance(59)
    assert world.settle().requeue_after == 1
    world.after(1)
    assert world.condition("Failed")["reason"] == "DeadlineExceeded"


def test_what_is_overdue_makes_no_pass_follow_the_other(world):
    world.begin(a_job().with_workers(2))
    world.kubelet.bind("train-worker-0")
    world.kubelet.wait("train-worker-0", "ErrImagePull")
    world.settle()
    later = a_pod(world.job(), index=1, attempt=MAX_ATTEMPT + 1).build()
    later["metadata"]["name"] = "later"
    world.put(later)
    world.advance(world.settings.image_pull_grace_seconds + 1)
    assert world.settle().requeue_after is None


@pytest.mark.parametrize("is_backlogged", [False, True])
def test_starting_deadline_fails_a_job_that_does_not_run(world, is_backlogged):
    world.is_backlogged = is_backlogged
    world.begin(a_job().with_workers(2).with_spec(startingDeadlineSeconds=30))
    world.kubelet.refuse_to_bind("train-worker-1", "0/3 nodes are available")
    world.after(20)
    world.after(9)
    assert world.phase() == "Pending"
    world.after(1)
    failed = world.condition("Failed")
    assert failed["reason"] == "StartingDeadlineExceeded"
    assert "0/3 nodes are available" in failed["message"]


@pytest.mark.parametrize("pause", [0, 5])
def test_starting_deadline_is_met_by_a_run(world, pause):
    world.begin(a_job().with_workers(1).with_spec(startingDeadlineSeconds=30, backoffLimit=1))
    world.advance(pause)
    world.run()
    world.after(60)
    assert world.phase() == "Running"


def test_starting_deadline_does_not_hurry_a_restart(world):
    world.begin(a_job().with_workers(1).with_spec(startingDeadlineSeconds=30, backoffLimit=1))
    world.advance(2)
    world.run()
    world.advance(20)
    world.kubelet.see_end("train-worker-0", 1)
    world.after(60)
    assert world.phase() != "Failed"


def test_ttl_deletes_an_ended_job(world):
    world.run(a_job().with_workers(1).with_spec(ttlSecondsAfterFinished=100))
    world.kubelet.end_all("worker")
    world.settle()
    world.kubelet.reap_all()
    assert world.settle().requeue_after == 100
    world.after(99)
    assert world.phase() == "Completed"
    world.after(1)
    assert world.objects == {}
