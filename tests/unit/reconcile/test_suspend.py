"""spec.suspend: pods gone, slots free; resuming is a new attempt, not charged."""

from tests.memory.builders import a_job
from tests.memory.kubelet import Kubelet, run_job
from tests.memory.world import World


def suspend(world: World, kubelet: Kubelet) -> None:
    """Suspend the job and let its pods go."""
    world.edit_spec(suspend=True)
    kubelet.let_go()


def test_job_created_suspended_makes_nothing(world: World) -> None:
    world.begin(a_job().with_ps(1).with_workers(2).with_spec(suspend=True))
    assert world.names("Pod") == []
    assert world.phase() == "Suspended"
    assert world.condition("Suspended")["status"] == "True"
    assert "startTime" not in world.status()
    assert [outcome.kind for outcome in world.counted] == ["created"]


def test_running_job_gives_its_slots_back(world: World, kubelet: Kubelet) -> None:
    run_job(world, kubelet, a_job().with_workers(2))
    suspend(world, kubelet)
    assert world.phase() == "Suspended"
    assert world.names("Pod") == []
    assert world.names("ConfigMap") == []
    assert world.condition("Running")["status"] == "False"


def test_resumed_job_is_a_new_attempt_uncharged(world: World, kubelet: Kubelet) -> None:
    run_job(world, kubelet, a_job().with_workers(2))
    suspend(world, kubelet)
    world.advance(100)
    world.edit_spec(suspend=False)
    run_job(world, kubelet)
    status = world.status()
    assert world.phase() == "Running"
    assert (status["attempt"], status["restartCount"]) == (2, 1)
    assert "failureCount" not in status
    assert status["startTime"] == "2026-01-02T03:05:45Z"
    assert world.condition("Suspended")["status"] == "False"


def test_resumed_job_never_meets_the_config_map_of_before(world: World, kubelet: Kubelet) -> None:
    """The pods were gone already when the job was suspended, their ConfigMap was not."""
    run_job(world, kubelet, a_job().with_workers(1))
    kubelet.vanish("train-worker-0")
    world.amend(suspend=True)
    world.amend(suspend=False)
    assert world.names("ConfigMap") == []


def test_resume_waits_for_the_last_pod_to_go(world: World, kubelet: Kubelet) -> None:
    run_job(world, kubelet, a_job().with_workers(1))
    world.amend(suspend=True)
    world.amend(suspend=False)
    labels = world.get("Pod", "train-worker-0")["metadata"]["labels"]
    assert labels["batch.paddlepaddle.org/attempt"] == "1"
    kubelet.reap_all()
    run_job(world, kubelet)
    assert world.phase() == "Running"


def test_replicas_may_change_meanwhile(world: World, kubelet: Kubelet) -> None:
    run_job(world, kubelet, a_job().with_workers(2))
    suspend(world, kubelet)
    worker = world.job()["spec"]["worker"] | {"replicas": 3}
    world.edit_spec(suspend=False, worker=worker)
    run_job(world, kubelet)
    assert world.names("Pod") == [f"train-worker-{index}" for index in range(3)]


def test_job_whose_workers_have_ended_completes_all_the_same(
    world: World, kubelet: Kubelet
) -> None:
    run_job(world, kubelet, a_job().with_workers(2))
    kubelet.end_all("worker")
    world.amend(suspend=True)
    assert world.phase() == "Completed"


def test_ended_job_is_not_suspended(world: World, kubelet: Kubelet) -> None:
    run_job(world, kubelet, a_job().with_workers(1))
    kubelet.end_all("worker")
    world.settle()
    world.amend(suspend=True)
    assert world.phase() == "Completed"
