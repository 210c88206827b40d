"""A status that an old snapshot of etcd brought back follows the pods, which run on."""

import copy

import pytest

from api.constants import LABEL_ATTEMPT
from api.objects import Raw
from reconcile.attempt.catch_up import BEHIND_SECONDS, MAX_ATTEMPT
from tests.memory.builders import a_job
from tests.memory.world import World


def restore(world: World) -> None:
    """The second attempt runs, and status is again that of the first, which ran too."""
    world.run(a_job().with_workers(2))
    old = copy.deepcopy(world.status())
    world.remove("Pod", "train-worker-0")
    world.settle()
    world.kubelet.reap_all()
    world.run()
    assert world.status()["attempt"] == 2
    world.change("PaddleJob", "train", lambda job: job.update(status=old))


def uids(world: World) -> set[str]:
    return {pod["metadata"]["uid"] for pod in world.of_kind("Pod")}


def test_status_follows_the_pods_of_a_later_attempt(world):
    restore(world)
    before = uids(world)
    assert 0 < (world.settle().requeue_after or 0) <= BEHIND_SECONDS
    assert world.status()["attempt"] == 1
    world.after(BEHIND_SECONDS)
    assert (world.phase(), world.status()["attempt"]) == ("Running", 2)
    assert world.status()["restartCount"] == 1
    assert uids(world) == before


def test_a_job_whose_later_attempt_has_ended_well_is_complete(world):
    restore(world)
    world.kubelet.end_all("worker")
    world.after(BEHIND_SECONDS)
    assert world.phase() == "Completed"


@pytest.mark.parametrize("attempt", [str(MAX_ATTEMPT + 1), "9" * 63])
def test_no_label_takes_status_beyond_what_it_can_hold(world, attempt):
    world.run(a_job().with_workers(1))

    def pretend(pod: Raw) -> None:
        pod["metadata"]["labels"][LABEL_ATTEMPT] = attempt

    world.change("Pod", "train-worker-0", pretend)
    world.after(BEHIND_SECONDS)
    assert world.status()["attempt"] == 1
