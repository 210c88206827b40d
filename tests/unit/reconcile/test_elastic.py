"""An elastic job: workers come and go alone, and an end without training is no success."""

import pytest

from reconcile.attempt.restart import SECOND_DELAY_SECONDS
from reconcile.model.plan import Settings
from tests.memory.builders import a_job
from tests.memory.world import World

TIMEOUT = 60


@pytest.fixture
def world() -> World:
    return World(Settings(elastic_server="etcd:2379", elastic_timeout_seconds=TIMEOUT))


def start(world: World, replicas: int = 2, least: int = 2, most: int = 4) -> None:
    """An elastic job whose workers all run for a while."""
    world.run(a_job().with_elastic_workers(replicas, least, most))
    world.advance(100)
    assert world.phase() == "Running"


def scale(world: World, replicas: int) -> None:
    """What `kubectl scale` does."""
    world.edit_spec(worker=world.job()["spec"]["worker"] | {"replicas": replicas})


def test_job_grows_at_the_top(world):
    start(world)
    scale(world, 3)
    world.settle()
    assert world.names("Pod") == [f"train-worker-{index}" for index in range(3)]
    assert world.phase() == "Scaling"
    world.run()
    assert (world.phase(), world.status()["attempt"]) == ("Running", 1)


@pytest.mark.parametrize("code", [15, 143])
def test_job_shrinks_from_the_top(world, code):
    start(world, replicas=3)
    scale(world, 2)
    world.settle()
    assert world.phase() == "Scaling"
    world.kubelet.end("train-worker-2", code)
    world.kubelet.let_go()
    assert world.names("Pod") == ["train-worker-0", "train-worker-1"]
    assert world.phase() == "Running"
    assert "failures" not in world.status()


@pytest.mark.parametrize("index", [0, 2])
def test_dead_worker_is_replaced_alone(world, index):
    start(world, replicas=3)
    name = f"train-worker-{index}"
    before = {other: world.kubelet.uid(other) for other in world.names("Pod") if other != name}
    world.kubelet.see_end(name, 137)
    world.kubelet.reap_all()
    world.run()
    assert world.phase() == "Running"
    assert {other: world.kubelet.uid(other) for other in before} == before
    status = world.status()
    assert status["attempt"] == 1
    assert [failure["pod"] for failure in status["failures"]] == [name]
    assert status["avoidNodes"] == ["node-1"], "the node may reject the next pod, too"


def test_too_few_workers_restart_the_gang(world):
    world.run(a_job().with_elastic_workers(2, 2, 4).with_spec(backoffLimit=1))
    world.kubelet.see_end("train-worker-0", 1)
    status = world.status()
    assert (status["attempt"], status["failureCount"]) == (2, 1)


def test_launcher_that_gave_up_forming_anew_is_not_charged(world):
    start(world)
    world.kubelet.see_end("train-worker-0", 241)
    status = world.status()
    assert (status["phase"], status["attempt"]) == ("Restarting", 2)
    assert "failureCount" not in status


def test_many_dead_workers_are_all_replaced(world):
    start(world, replicas=9, least=1, most=9)
    for index in range(1, 9):
        world.kubelet.end(f"train-worker-{index}", 1)
    for _ in range(4):
        world.settle()
        world.kubelet.reap_all()
    world.advance(SECOND_DELAY_SECONDS)
    world.run()
    assert world.phase() == "Running"
    assert len(world.status()["failures"]) == 5


def test_many_workers_that_always_die_are_replaced_no_faster_than_a_few(world):
    """Status keeps five records, and each pushes out one of another worker."""
    start(world, replicas=7, least=1, most=7)
    made, seconds = set(), 6 * int(SECOND_DELAY_SECONDS)
    for _ in range(seconds):
        for index in range(1, 7):
            if f"train-worker-{index}" in world.names("Pod"):
                world.kubelet.end(f"train-worker-{index}", 1)
        for _ in range(4):
            world.settle()
            world.kubelet.reap_all()
        world.kubelet.place_all()
        world.kubelet.start_all()
        made |= {world.kubelet.uid(name) for name in world.names("Pod")}
        world.advance(1)
    assert len(made) < 7 * seconds / SECOND_DELAY_SECONDS * 1.2


def test_every_failure_is_recorded_before_its_pod_goes(world):
    start(world, replicas=4, least=1)
    world.kubelet.end("train-worker-3", 1)
    world.work()
    world.kubelet.see_end("train-worker-2", 1)
    assert {f["pod"] for f in world.status()["failures"]} == {"train-worker-2", "train-worker-3"}


def test_worker_that_dies_again_is_replaced_later(world):
    start(world, replicas=3)
    for _ in range(2):
        world.advance(1)
        world.kubelet.end("train-worker-2", 1)
        plan = world.kubelet.let_go()
        world.kubelet.place_all()
        world.kubelet.start_all()
    assert "train-worker-2" not in world.names("Pod")
    assert plan.requeue_after == 10
    world.after(10)
    assert "train-worker-2" in world.names("Pod")


def test_vanished_worker_comes_back_alone(world):
    start(world)
    world.kubelet.vanish("train-worker-0")
    world.settle()
    assert len(world.names("Pod")) == 2
    assert world.status()["attempt"] == 1


@pytest.mark.parametrize(
    "seconds", [5, 3 * TIMEOUT], ids=["at once", "one saves the model for long"]
)
def test_workers_that_trained_together_complete_the_job(world, seconds):
    start(world)
    world.kubelet.see_end("train-worker-1", 0)
    assert world.phase() == "Completing"
    world.advance(seconds)
    world.kubelet.see_end("train-worker-0", 0)
    assert world.phase() == "Completed"


def test_launcher_that_found_no_peers_is_no_success(world):
    world.begin(a_job().with_elastic_workers(2, 2, 3))
    world.kubelet.bind("train-worker-0")
    world.kubelet.start("train-worker-0")
    world.settle()
    world.advance(TIMEOUT)
    world.kubelet.see_end("train-worker-0", 0)
    assert world.phase() == "Restarting"
    assert world.condition("Restarting")["reason"] == "ElasticUntrained"
    assert "failureCount" not in world.status()


def test_launcher_that_was_left_alone_is_no_success(world):
    """The second one started just before the first gave up, and waited for peers in its turn."""
    world.begin(a_job().with_elastic_workers(2, 2, 3))
    for name in world.names("Pod"):
        world.kubelet.bind(name)
    world.kubelet.start("train-worker-0")
    world.advance(TIMEOUT - 1)
    world.kubelet.start("train-worker-1")
    world.advance(1)
    world.kubelet.see_end("train-worker-0", 0)
    world.advance(TIMEOUT)
    world.kubelet.see_end("train-worker-1", 0)
    assert world.condition("Restarting")["reason"] == "ElasticUntrained"


def test_late_worker_does_not_hold_the_end(world):
    start(world, replicas=3)
    world.kubelet.see_end("train-worker-2", 1)
    world.kubelet.reap_all()
    world.run()
    for index in range(2):
        world.kubelet.end(f"train-worker-{index}", 0)
    world.kubelet.let_go()
    assert world.phase() == "Completed"
    assert world.names("Pod") == ["train-worker-0", "train-worker-1"], "it trained nothing"


def test_no_worker_is_made_once_one_has_ended_well(world):
    start(world, replicas=3)
    world.kubelet.end("train-worker-0", 0)
    world.kubelet.end("train-worker-2", 139)
    world.kubelet.let_go()
    assert world.names("Pod") == ["train-worker-0", "train-worker-1"]
    world.kubelet.see_end("train-worker-1", 0)
    assert world.phase() == "Completed"


def test_a_run_with_fewer_workers_than_wanted_is_not_fruitless(world):
    world.begin(a_job().with_elastic_workers(3, 2, 3))
    for _ in range(2):
        for name in ("train-worker-0", "train-worker-1"):
            world.kubelet.bind(name)
            world.kubelet.start(name)
        world.after(3600)
        assert world.phase() not in ("Running", "Restarting")
        world.kubelet.evict("train-worker-0")
        world.kubelet.evict("train-worker-1")
        world.kubelet.let_go()
        world.after(360)
        assert world.status()["fruitlessRestarts"] == 1
    assert world.status()["attempt"] == 3
