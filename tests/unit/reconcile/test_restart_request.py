"""The annotation restarted-at: each new value is one new attempt, uncharged and at once."""

import pytest

from api.constants import ANNOTATION_RESTARTED_AT, MAX_RESTARTED_AT
from api.objects import Raw
from tests.memory.builders import a_job
from tests.memory.world import World

MONDAY, TUESDAY = "2026-01-05T08:00:00Z", "2026-01-06T08:00:00Z"


def ask(world: World, value: str = MONDAY) -> None:
    """Set the annotation, as `kubectl annotate` does."""

    def edit(job: Raw) -> None:
        job["metadata"].setdefault("annotations", {})[ANNOTATION_RESTARTED_AT] = value

    world.change("PaddleJob", "train", edit)


def restart(world: World, value: str) -> None:
    ask(world, value)
    world.kubelet.let_go()
    world.run()


@pytest.mark.parametrize(
    ("values", "attempt"),
    [([MONDAY], 2), ([MONDAY, MONDAY], 2), ([MONDAY, TUESDAY], 3), (["x" * 1000], 2)],
    ids=["new", "the same", "another, without a back-off", "huge, and cut"],
)
def test_each_new_value_is_one_attempt_uncharged(world, values, attempt):
    world.run(a_job().with_workers(2))
    for value in values:
        restart(world, value)
    assert (world.phase(), world.status()["attempt"]) == ("Running", attempt)
    assert world.status()["restartedAt"] == values[-1][:MAX_RESTARTED_AT]
    assert not {"failureCount", "failures"} & world.status().keys()
    reasons = [each.reason for each in world.counted if each.kind == "restarted"]
    assert reasons == ["RestartRequested"] * (attempt - 1)


def test_a_job_created_with_the_annotation_begins_with_its_first_attempt(world):
    asked = {ANNOTATION_RESTARTED_AT: MONDAY}
    world.run(a_job().with_workers(1).with_metadata(annotations=asked))
    assert (world.phase(), world.status()["attempt"]) == ("Running", 1)
    assert world.status()["restartedAt"] == MONDAY


def test_a_suspended_job_notes_the_value(world):
    world.begin(a_job().with_workers(1).with_spec(suspend=True))
    ask(world)
    world.settle()
    world.edit_spec(suspend=False)
    world.run()
    assert (world.phase(), world.status()["attempt"]) == ("Running", 1)


def test_an_ended_job_stays_ended(world):
    world.run(a_job().with_workers(1))
    world.kubelet.end_all("worker")
    world.settle()
    ask(world)
    world.settle()
    assert (world.phase(), world.status()["attempt"]) == ("Completed", 1)
    assert "restartedAt" not in world.status()


def test_a_failure_at_the_same_time_is_recorded_and_the_request_answered(world):
    world.run(a_job().with_workers(2).with_spec(backoffLimit=1))
    world.kubelet.end("train-worker-0", 1)
    ask(world)
    world.settle()
    assert world.status()["failureCount"] == 1
    assert world.status()["attempt"] == 3
    assert world.status()["restartedAt"] == MONDAY
