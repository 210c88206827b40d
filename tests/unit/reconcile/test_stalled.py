"""A training that stalls is noticed by its log, told once, and restarted once where asked."""

from datetime import timedelta
from typing import Any

import pytest

from api.constants import Condition, Reason
from api.objects import Raw
from api.status import parse_status
from reconcile.failure.loss import trained_share
from reconcile.model.plan import Outcome
from reconcile.model.training import Reading
from reconcile.words.progress import Progress
from tests.memory.builders import a_job, at, stamp
from tests.memory.world import World

AFTER = {"afterSeconds": 120}
RESTART = AFTER | {"action": "Restart"}
STEPS = AFTER | {"of": "Step"}


def read(
    world: World,
    silent: float = 0.0,
    stepless: float = 0.0,
    attempt: int = 1,
    ago: tuple[float, ...] = (0, 33, 1),
    before: bool = False,
    **progress: Any,
) -> None:
    """The log was read now: it is silent for so long, and without a new step for so long.

    `ago` is the age of each worker's last line, all shifted so that the first is `silent`.
    """
    known = Progress(
        **{
            "step": 5,
            "last_output_time": world.now - timedelta(seconds=silent),
            "last_step_time": world.now - timedelta(seconds=stepless),
            **progress,
        }
    )
    tails = tuple(
        (
            f"train-worker-{index}",
            world.now - timedelta(seconds=silent - ago[0] + each),
            f"line 0 of 9\rline {index}\x1bof 9\r",
        )
        for index, each in enumerate(ago)
    )
    stepless, tails = max(stepless, silent), tails if silent else ()
    world.training = Reading(known, attempt, silent, stepless, tails, before)


def run(world: World, policy: Raw | None, **spec: object) -> None:
    """A job of three workers with this policy, which has run for ten minutes."""
    spec = {"backoffLimit": 3, **({} if policy is None else {"stallPolicy": policy}), **spec}
    world.run(a_job().with_workers(3).with_spec(**spec))
    world.advance(600)


def stalled(world: World) -> tuple[str, str]:
    """Status and reason of the condition."""
    found = [c for c in world.status()["conditions"] if c["type"] == Condition.TRAINING_STALLED]
    return (found[0]["status"], found[0]["reason"]) if found else ("", "")


NO_OUTPUT, NO_STEP, NOT = ("True", "NoOutput"), ("True", "NoNewStep"), ("", "")
JUDGED: dict[str, tuple[Raw | None, Raw, tuple[str, str]]] = {
    "silent": (AFTER, {"silent": 120}, NO_OUTPUT),
    "not yet": (AFTER, {"silent": 119}, NOT),
    "the default": ({}, {"silent": 899}, NOT),
    "beyond the default": ({}, {"silent": 900}, NO_OUTPUT),
    "no policy": (None, {"silent": 9000}, NOT),
    "steps are not asked for": (AFTER, {"stepless": 9000}, NOT),
    "the same step for ever": (STEPS, {"stepless": 120}, NO_STEP),
    "silent, by steps": (STEPS, {"silent": 120}, NO_OUTPUT),
    "before the first step": (AFTER, {"silent": 479, "step": None}, NOT),
    "no first step": (AFTER, {"silent": 480, "step": None}, NO_OUTPUT),
    "a step that left the log": (AFTER, {"silent": 120, "step": None, "before": True}, NO_OUTPUT),
    "a first step of its own": (
        AFTER | {"firstStepSeconds": 150},
        {"silent": 150, "step": None},
        NO_OUTPUT,
    ),
    "announced": (AFTER, {"silent": 500, "quiet_until": at(601)}, NOT),
    "longer than announced": (AFTER, {"silent": 500, "quiet_until": at(600)}, NO_OUTPUT),
    "forms again and again": (AFTER, {"stepless": 120, "forming_since": at(480)}, NO_STEP),
    "forms again and again, never a step": (
        AFTER,
        {"stepless": 480, "step": None, "forming_since": at(480)},
        NO_STEP,
    ),
    "forms, for less than that": (AFTER, {"stepless": 119, "forming_since": at(480)}, NOT),
    "formed again and again, and fell silent": (
        AFTER,
        {"stepless": 9000, "silent": 119, "forming_since": at(365)},
        NO_STEP,
    ),
    "formed thrice in a long time": (AFTER, {"stepless": 999, "forming_since": at(479)}, NOT),
    "another attempt's log": (AFTER, {"silent": 500, "attempt": 2}, NOT),
}


@pytest.mark.parametrize(("policy", "reading", "expected"), JUDGED.values(), ids=JUDGED)
def test_is_judged_by_the_policy(world, policy, reading, expected):
    run(world, policy)
    read(world, **reading)
    world.settle()
    assert stalled(world) == expected
    assert world.status()["attempt"] == 1


def test_only_whole_running_jobs_are_judged(world):
    run(world, RESTART)
    world.kubelet.end("train-worker-2", 0)
    read(world, silent=500)
    world.settle()
    assert (world.phase(), stalled(world)) == ("Completing", NOT)


def test_suspending_ends_the_stall(world):
    run(world, AFTER)
    read(world, silent=500)
    world.settle()
    world.amend(suspend=True)
    assert stalled(world) == ("False", "Ended")


def test_first_step_that_never_came_is_noticed_after_all_that_time(world):
    run(world, STEPS | {"firstStepSeconds": 600})
    read(world, silent=3, stepless=700, step=None, last_step_time=None)
    world.settle()
    (found,) = [outcome for outcome in world.counted if outcome.kind == "stalled"]
    assert (found.reason, found.seconds) == (Reason.NO_NEW_STEP, 700.0)


def test_tells_once_who_fell_silent_first(world):
    run(world, AFTER)
    read(world, silent=130)
    world.settle()
    world.advance(30)
    read(world, silent=160)
    assert world.work().status is None
    (found,) = [outcome for outcome in world.counted if outcome.kind == "stalled"]
    assert (found.reason, found.seconds) == (Reason.NO_OUTPUT, 130.0)
    (message,) = [each.message for each in world.told if each.reason == Reason.NO_OUTPUT]
    assert message == (
        "no output since 03:11:55Z; worker-1 fell silent first, at 03:11:22Z; the others wrote "
        "until 03:11:55Z"
    )
    assert world.status()["reason"] == Reason.NO_OUTPUT


FIRST = {
    "another": ((0, 33, 1), "worker-1"),
    "the first one, and the others write on": ((900, 5, 0), "worker-0"),
    "one never writes": ((0, 5000, 30), "worker-2"),
    "together, as copied by launchers": ((0, 2, 0.1), ""),
}


@pytest.mark.parametrize(("ago", "first"), FIRST.values(), ids=FIRST)
def test_the_first_that_fell_silent_is_named(world, ago, first):
    run(world, AFTER)
    read(world, silent=130 + ago[0], ago=ago)
    world.settle()
    (message,) = [each.message for each in world.told if each.reason == Reason.NO_OUTPUT]
    assert ("silent first" in message, f"; {first} fell silent first" in message) == (
        bool(first),
    ) * 2


def test_goes_on_and_the_time_from_the_last_step_is_lost(world):
    run(world, AFTER)
    read(world, silent=130, stepless=140)
    world.settle()
    assert world.status()["lostSince"] == stamp(460)
    world.advance(60)
    read(world, step=6)
    world.settle()
    assert stalled(world) == ("False", "TrainsAgain")
    lost = [outcome for outcome in world.counted if outcome.kind == "lost"]
    assert lost == [Outcome("lost", "Collective", "TrainingStalled", 200.0, 0)]
    assert world.status()["lostSeconds"] == 200


def test_restart_is_charged_and_recorded(world):
    run(world, RESTART)
    read(world, silent=130)
    world.settle()
    status = world.status()
    assert (status["attempt"], status["failureCount"]) == (2, 1)
    assert stalled(world) == ("False", "Ended")
    (record,) = status["failures"]
    assert (record["pod"], record["node"]) == ("train-worker-1", "node-1")
    assert record["reason"] == "TrainingStalled"
    first, *lines = record["message"].splitlines()
    assert first.startswith("no output since")
    assert lines[0] == "worker-1, 03:11:22Z: line 1 of 9"
    world.kubelet.let_go()
    world.run()
    (lost,) = [outcome for outcome in world.counted if outcome.kind == "lost"]
    assert (lost.reason, lost.seconds) == ("TrainingStalled", 130.0)


def test_an_elastic_gang_that_forms_again_and_again_is_restarted(world):
    run(world, RESTART, elastic=1)
    read(world, stepless=130, forming_since=world.now)
    world.settle()
    assert world.status()["attempt"] == 2
    (record,) = world.status()["failures"]
    assert record["message"] == (
        "no new step since 03:11:55Z, after step 5; the launchers form their group again and again"
    )


def test_a_job_without_restarts_left_fails(world):
    run(world, RESTART, backoffLimit=None)
    read(world, silent=130)
    world.settle()
    assert (world.phase(), world.status()["reason"]) == ("Failed", "TrainingStalled")


@pytest.mark.parametrize("passes", range(4))
def test_a_leader_change_in_a_stall_leads_to_one_restart(world, passes):
    """Whether the leader goes before the condition, after it, or after the restart."""
    run(world, RESTART)
    read(world, silent=130)
    for _ in range(passes):
        world.work()
    attempt = world.status()["attempt"]
    world.restart()
    world.training = None
    world.settle()
    assert world.status()["attempt"] == attempt, "judged before the first read"
    world.kubelet.let_go()
    read(world, silent=140)
    world.kubelet.let_go()
    world.run()
    world.after(600)
    assert (world.status()["attempt"], world.phase()) == (2, "Running")


# Resume


def saved(world: World, step: int) -> None:
    """A finished checkpoint is in the status."""
    checkpoint = {"step": step, "path": f"out/checkpoint-{step}", "time": stamp(300)}
    progress = {"attempt": 1, "step": step + 5, "checkpoint": checkpoint}
    world.change("PaddleJob", "train", lambda job: job["status"].update(progress=progress))


def init_steps(world: World) -> set[tuple[str, ...]]:
    """The values of PDC_INIT_STEP in each trainer."""
    containers = [pod["spec"]["containers"][0] for pod in world.of_kind("Pod")]
    return {
        tuple(e["value"] for e in each.get("env", ()) if e["name"] == "PDC_INIT_STEP")
        for each in containers
    }


@pytest.mark.parametrize(
    ("spec", "step", "told"),
    [({"resume": "Paddle"}, 1000, ("1000",)), ({"resume": "Paddle"}, 0, ()), ({}, 1000, ())],
    ids=["resumes", "never from 0", "not asked for"],
)
@pytest.mark.parametrize("elastic", [0, 1])
def test_later_attempts_are_told_the_last_checkpoint(world, spec, step, told, elastic):
    run(world, RESTART, **spec, **({"elastic": 1} if elastic else {}))
    assert init_steps(world) == {()}
    saved(world, step)
    read(world, silent=130)
    world.kubelet.let_go()
    world.run()
    assert world.status()["attempt"] == 2
    assert init_steps(world) == {told}


def test_the_time_since_the_checkpoint_is_lost(world):
    run(world, None)
    saved(world, 1000)
    world.kubelet.end("train-worker-0", 1)
    world.kubelet.let_go()
    world.advance(30)
    world.run()
    (lost,) = [outcome for outcome in world.counted if outcome.kind == "lost"]
    assert (lost.reason, lost.seconds) == ("PodFailed", 330.0)
    world.advance(70)
    status = parse_status(world.status())
    assert trained_share(status, world.now) == pytest.approx(370 / 700, abs=0.01)
