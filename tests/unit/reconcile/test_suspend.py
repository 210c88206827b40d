"""spec.suspend: pods gone, slots free; resuming is a new attempt, not charged."""

import pytest

from tests.memory.builders import a_job
from tests.memory.world import World


def suspend(world: World) -> None:
    world.edit_spec(suspend=True)
    world.kubelet.let_go()


def test_job_created_suspended_makes_nothing(world):
    world.begin(a_job().with_ps(1).with_workers(2).with_spec(suspend=True))
    assert world.names("Pod") == []
    assert world.phase() == "Suspended"
    assert world.condition("Suspended")["status"] == "True"
    assert "startTime" not in world.status()
    assert [outcome.kind for outcome in world.counted] == ["created"]
    world.edit_spec(suspend=False)
    world.run()
    assert (world.phase(), world.status()["attempt"]) == ("Running", 1)
    assert "restartCount" not in world.status()


def test_suspended_job_gives_its_slots_back_and_resumes_uncharged_as_its_spec_is_then(world):
    world.run(a_job().with_workers(2))
    suspend(world)
    assert world.phase() == "Suspended"
    assert world.names("Pod") == world.names("ConfigMap") == []
    assert world.condition("Running")["status"] == "False"
    world.advance(100)
    world.edit_spec(suspend=False, worker=world.job()["spec"]["worker"] | {"replicas": 3})
    world.run()
    status = world.status()
    assert (world.phase(), len(world.names("Pod"))) == ("Running", 3)
    assert (status["attempt"], status["restartCount"]) == (2, 1)
    assert "failureCount" not in status
    assert status["startTime"] == "2026-01-02T03:05:45Z"
    assert world.condition("Suspended")["status"] == "False"


def test_resumed_job_never_meets_the_config_map_of_before(world):
    """The pods were gone already when the job was suspended, their ConfigMap was not."""
    world.run(a_job().with_workers(1))
    world.kubelet.vanish("train-worker-0")
    world.amend(suspend=True)
    world.amend(suspend=False)
    assert world.names("ConfigMap") == []


def test_resume_waits_for_the_last_pod_to_go(world):
    world.run(a_job().with_workers(1))
    world.amend(suspend=True)
    world.amend(suspend=False)
    labels = world.get("Pod", "train-worker-0")["metadata"]["labels"]
    assert labels["batch.paddlepaddle.org/attempt"] == "1"
    world.kubelet.reap_all()
    world.run()
    assert world.phase() == "Running"


@pytest.mark.parametrize("is_seen", [False, True])
def test_job_whose_workers_have_ended_is_complete_all_the_same(world, is_seen):
    world.run(a_job().with_workers(2))
    world.kubelet.end_all("worker")
    if is_seen:
        world.settle()
    world.amend(suspend=True)
    assert world.phase() == "Completed"
