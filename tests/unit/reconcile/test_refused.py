"""Children that the API server refuses: a wait where that may heal, else the end of the job."""

import pytest

from api.constants import Reason
from reconcile.model.plan import FORMER_JOB, YOUNG_KIND, Refusal
from tests.memory.builders import a_job, view_of, wait_of
from tests.memory.world import World

WORDS = 'Pod "train-worker-0" is invalid: spec.containers[0].name: Invalid value: "Paddle"'
GRACE_SECONDS = 60


def refuse(world: World, kind: str, name: str, message: str = WORDS) -> None:
    """The API server's validation refuses a child as it is sent."""
    world.refusals[(kind, name)] = Refusal(kind, name, "Invalid", message, 422, is_final=True)


def test_invalid_child_ends_the_job_with_the_servers_words(world):
    refuse(world, "Pod", "train-worker-0")
    world.begin(a_job().with_workers(2))
    assert world.condition("Pending")["reason"] == "InvalidSpec"
    assert world.after(GRACE_SECONDS - 1).requeue_after == 1
    assert world.phase() == "Pending"
    world.after(1)
    failed = world.condition("Failed")
    assert (world.phase(), failed["reason"]) == ("Failed", "InvalidSpec")
    assert failed["message"] == f"Pod train-worker-0: {WORDS}"
    (failure,) = world.status()["failures"]
    assert (failure["pod"], failure["role"], failure["index"]) == ("train-worker-0", "worker", 0)
    assert failure["message"] == failed["message"]


@pytest.mark.parametrize(
    ("kind", "name", "spec"),
    [
        ("Service", "train-worker-0", {"intranet": "Service"}),
        ("ConfigMap", "train", {}),
        ("PodGroup", "train-0123abcd", {"schedulingPolicy": {}}),
    ],
)
def test_no_kind_of_child_is_waited_for_in_vain(world, kind, name, spec):
    world.volcano_served = True
    refuse(world, kind, name)
    world.begin(a_job().with_workers(1).with_spec(**spec))
    world.kubelet.place_all()
    world.settle()
    world.after(GRACE_SECONDS)
    assert world.condition("Failed")["reason"] == "InvalidSpec"
    assert world.status()["failures"][0].get("role", "") == ""


def test_later_attempt_has_a_grace_of_its_own(world):
    world.run(a_job().with_workers(1).with_spec(backoffLimit=1))
    world.advance(1000)
    refuse(world, "Pod", "train-worker-0")
    world.kubelet.end("train-worker-0", 1)
    world.kubelet.let_go()
    world.after(GRACE_SECONDS - 1)
    assert world.phase() == "Restarting"
    world.after(1)
    assert world.phase() == "Failed"


def test_grace_counts_from_when_it_was_told_not_from_an_earlier_wait(world):
    world.refused_kinds.add("Pod")
    world.begin(a_job().with_workers(1))
    world.advance(3600)
    world.refused_kinds.clear()
    refuse(world, "Pod", "train-worker-0")
    world.settle()
    assert (world.phase(), world.condition("Pending")["reason"]) == ("Pending", "InvalidSpec")


def test_grace_outlives_the_operator(world):
    refuse(world, "Pod", "train-worker-0")
    world.begin(a_job().with_workers(2))
    told = world.status()
    for _ in range(2):
        world.advance(GRACE_SECONDS / 3)
        world.restart()
        world.settle()
        assert world.status() == told
    world.advance(GRACE_SECONDS / 3)
    world.restart()
    world.settle()
    assert world.phase() == "Failed"


def test_job_goes_on_when_it_is_valid_after_all(world):
    refuse(world, "Pod", "train-worker-0")
    world.begin(a_job().with_workers(1))
    world.refusals.clear()
    world.after(GRACE_SECONDS / 2)
    assert world.names("Pod") == ["train-worker-0"]
    assert world.condition("Pending")["reason"] == "WaitingForPods"
    world.after(GRACE_SECONDS)
    assert world.phase() == "Pending"


@pytest.mark.parametrize("code", [403, 422])
def test_what_may_heal_is_waited_for(world, code):
    refusal = Refusal("Pod", "train-worker-0", "Forbidden", "violates PodSecurity", code)
    world.refusals[refusal.child] = refusal
    world.begin(a_job().with_workers(1))
    world.after(100_000)
    assert world.condition("Pending")["reason"] == "CreateRefused"


def test_what_is_invalid_is_told_before_what_may_heal():
    job = a_job().with_workers(2).build()
    quota = Refusal("Pod", "train-worker-0", "Forbidden", "exceeded quota: few", 403)
    invalid = Refusal("Pod", "train-worker-1", "Invalid", WORDS, 422, is_final=True)
    wait = wait_of(view_of(job, refusals=(quota, invalid)))
    assert wait and wait.reason is Reason.INVALID_SPEC


@pytest.mark.parametrize(
    ("reason", "told"), [(FORMER_JOB, "PodsTerminating"), (YOUNG_KIND, "WaitingForPods")]
)
def test_failure_that_is_a_wait_is_no_warning(world, reason, told):
    world.refusals[("Pod", "train-worker-0")] = Refusal(
        "Pod", "train-worker-0", reason, "still there", 0
    )
    world.begin(a_job().with_workers(1))
    assert world.condition("Pending")["reason"] == told
    assert "train-worker-0" in world.condition("Pending")["message"]
    assert not [event for event in world.told if event.type == "Warning"]
