"""A change of a child that the API server refuses for good: the job says so, and goes on."""

from collections.abc import Callable

import pytest

from api.objects import condition_named
from reconcile.children.wake import WAITING
from reconcile.model.pause import FIRST_PAUSE_SECONDS
from reconcile.model.plan import Settings
from tests.memory.builders import JobBuilder, a_job
from tests.memory.kueue import WORKLOAD, Kueue
from tests.memory.world import World
from tests.unit.reconcile.test_adoption import Left

LABELS = {"kueue.x-k8s.io/queue-name": "team-a"}
MINUTE = 60


def a_queued_job() -> JobBuilder:
    return a_job().with_workers(1).with_metadata(labels=dict(LABELS))


def wake(world: World) -> None:
    world.begin(a_job().with_workers(1))
    world.kubelet.place_all()
    world.kubelet.wait("train-worker-0", WAITING, 'configmap "train" not found')


def follow_the_gang(world: World) -> None:
    world.volcano_served = True
    world.begin(a_job().with_workers(2).with_spec(schedulingPolicy={}))
    world.change("PodGroup", "train-0123abcd", lambda group: group["spec"].update(minMember=1))


def move_to_another_queue(world: World) -> None:
    world.begin(a_queued_job())
    labels = {"kueue.x-k8s.io/queue-name": "team-b"}
    world.change("PaddleJob", "train", lambda job: job["metadata"].update(labels=labels))


def report_that_pods_run(world: World) -> None:
    world.begin(a_queued_job())
    Kueue(world).admit()
    world.settle()
    world.kubelet.place_all()
    world.settle()
    world.kubelet.start_all()


def report_the_end(world: World, **fields: object) -> None:
    world.begin(a_queued_job().with_spec(**fields))
    Kueue(world).admit()
    world.run()
    world.kubelet.end("train-worker-0", 0)


def report_the_end_at_once(world: World) -> None:
    report_the_end(world, ttlSecondsAfterFinished=0)


def delegate(world: World) -> None:
    world.begin(a_queued_job().with_spec(managedBy="kueue.x-k8s.io/multikueue"))
    labels = {"kueue.x-k8s.io/queue-name": "team-b"}
    world.change("PaddleJob", "train", lambda job: job["metadata"].update(labels=labels))


def say(world: World) -> list[str]:
    """The messages of the true conditions."""
    conditions = world.status().get("conditions", ())
    return [each["message"] for each in conditions if each["status"] == "True"]


@pytest.fixture
def world() -> World:
    return World(settings=Settings(kueue=True), workloads_served=True)


@pytest.mark.parametrize(
    ("kind", "begin"),
    [
        ("Pod", wake),
        ("PodGroup", follow_the_gang),
        (WORKLOAD, move_to_another_queue),
        (WORKLOAD, report_that_pods_run),
        (WORKLOAD, report_the_end),
        (WORKLOAD, report_the_end_at_once),
        (WORKLOAD, delegate),
    ],
)
def test_job_says_what_is_refused_until_it_is_not(
    world: World, kind: str, begin: Callable[[World], None]
) -> None:
    begin(world)
    world.refused_patches.add(kind)
    plan = world.settle()
    assert [message for message in say(world) if "cannot be changed: " in message]
    assert [event.reason for event in world.told].count("PatchRefused") == 1
    assert plan.requeue_after, "it is tried again"
    world.refused_patches.clear()
    world.after(MINUTE)
    left = say(world) if world.names("PaddleJob") else []
    assert not [message for message in left if "cannot be changed" in message]
    assert [event.reason for event in world.told].count("PatchRefused") == 1


def test_wakes_that_are_refused_cause_no_pass_before_the_next_try(world: World) -> None:
    world.begin(a_job().with_workers(2))
    world.kubelet.place_all()
    for name in world.names("Pod"):
        world.kubelet.wait(name, WAITING, 'secret "mine" not found')
    world.refused_patches.add("Pod")
    plan = world.settle()
    assert plan.requeue_after == FIRST_PAUSE_SECONDS


def test_pods_are_made_although_a_change_is_refused(world: World) -> None:
    follow_the_gang(world)
    world.refused_patches.add("PodGroup")
    world.settle()
    world.remove("Pod", "train-worker-1")
    world.after(0)
    assert world.names("Pod") == ["train-worker-0", "train-worker-1"]


@pytest.mark.parametrize("has_begun", [True, False])
def test_pods_of_another_operator_that_cannot_be_taken_are_told(has_begun: bool) -> None:
    left = Left()
    left.leave(a_job().with_workers(2), "Running" if has_begun else "Pending")
    (left.refused_patches if has_begun else left.refused_deletes).add("Pod")
    left.take_over()
    pending = left.condition("Pending")
    assert pending["reason"] == ("PatchRefused" if has_begun else "DeleteRefused")
    assert left.status()["phase"] == ("Running" if has_begun else "Pending")
    assert "attempt" not in left.status()
    assert (left.operator.queue.seconds_to_next() or 0) > 5, "each pass reads every pod"
    left.refused_patches.clear()
    left.refused_deletes.clear()
    left.advance(MINUTE)
    left.begin_ours()
    assert (left.phase(), left.status()["attempt"]) == ("Running", 1)
    assert left.condition("Pending")["status"] == "False"


def test_job_that_cannot_be_deleted_says_so(world: World) -> None:
    world.refused_deletes.add("PaddleJob")
    world.run(a_job().with_workers(1).with_spec(ttlSecondsAfterFinished=MINUTE))
    world.kubelet.see_end("train-worker-0", 0)
    plan = world.after(MINUTE)
    assert world.condition("Pending")["reason"] == "DeleteRefused"
    assert plan.requeue_after
    world.refused_deletes.clear()
    world.after(MINUTE)
    assert world.names("PaddleJob") == []


@pytest.mark.parametrize("policy", ["Never", "OnCompletion", None])
@pytest.mark.parametrize("ttl", [0, 1])
def test_workload_is_finished_before_its_job_goes(
    world: World, ttl: int, policy: str | None
) -> None:
    """Its quota stays until no pod runs any more, and the job until its quota is given back."""
    job = a_queued_job().with_ps(1).with_spec(ttlSecondsAfterFinished=ttl, cleanPodPolicy=policy)
    world.begin(job)
    Kueue(world).admit()
    world.run()
    world.kubelet.see_end("train-worker-0", 0)
    world.after(ttl)
    kueue = Kueue(world)
    assert "train-ps-0" in world.names("Pod"), "it takes its grace period"
    assert (kueue.holds_quota, kueue.condition("Finished")) == (True, "")
    world.kubelet.let_go()
    assert world.names("PaddleJob") == []
    *_, last = (c.obj for c in world.changes if c.place[0] == WORKLOAD and c.obj is not None)
    assert condition_named(last, "Finished")["status"] == "True"
