"""The top of a status: reason and first words of the condition that says most; and its end."""

import pytest

from api.constants import Condition
from api.status import MAX_HEADLINE_CHARACTERS
from pdj.facts.facts import Facts
from pdj.facts.picture import JobPicture
from pdj.judge.judge import judge
from pdj.session import Screen
from pdj.text.rows import row_of
from pdj.text.status import draw_job
from tests.memory.builders import NOW, a_job
from tests.memory.world import World, writes_nothing


def headline(world: World) -> tuple[str, str]:
    """What the wide columns show."""
    status = world.status()
    return status.get("reason", ""), status.get("message", "")


def test_restarting_job_tells_what_failed(world):
    world.run(a_job().with_workers(2).with_spec(backoffLimit=1))
    world.kubelet.see_end("train-worker-1", 3)
    reason, message = headline(world)
    assert reason == "PodFailed"
    assert message.startswith("train-worker-1 on node-1 exited with code 3")


@pytest.mark.parametrize("missing", [(), ("reason", "message")], ids=["now", "older operator"])
def test_restart_refused_by_quota_has_one_reason_in_all_tools(world, missing):
    world.run(a_job().with_workers(2).with_spec(backoffLimit=1))
    world.refused_kinds.add("Pod")
    world.kubelet.end("train-worker-1", 3)
    world.kubelet.let_go()
    assert headline(world)[0] == "QuotaExceeded"
    job = world.job()
    status = {key: value for key, value in job["status"].items() if key not in missing}
    picture = JobPicture({**job, "status": status})
    assert (
        "QuotaExceeded for" in draw_job(Facts(picture), Screen(has_colour=False).paint, NOW, 200)[1]
    )
    row = row_of(picture.raw)
    assert (row["reason"], row["message"]) == headline(world)
    assert [each.reason for each in judge(Facts(picture)).findings] == [
        "QuotaExceeded",
        "PodFailed",
    ]


def test_waiting_job_tells_what_it_waits_for_in_few_words(world):
    world.begin(a_job().with_workers(1))
    world.kubelet.bind("train-worker-0")
    world.kubelet.wait("train-worker-0", "ErrImagePull", f"no such image {'x' * 5000}")
    world.settle()
    reason, message = headline(world)
    assert reason == "ImageError"
    assert message.startswith("train-worker-0: ErrImagePull: no such image")
    assert len(message) == MAX_HEADLINE_CHARACTERS
    assert message.endswith("…")


@pytest.mark.parametrize(
    ("code", "phase", "reason"), [(0, "Completed", "WorkersSucceeded"), (1, "Failed", "PodFailed")]
)
def test_end_is_told_with_one_write(world, code, phase, reason):
    world.run(a_job().with_workers(1))
    assert not world.condition(Condition.FINISHED)
    world.kubelet.end("train-worker-0", code)
    writes: list[str] = []
    world.before_write = writes.append
    world.work()
    assert writes == ["status"]
    finished = world.condition(Condition.FINISHED)
    assert (finished["status"], finished["reason"]) == ("True", phase)
    assert (world.phase(), headline(world)[0]) == (phase, reason)


@pytest.mark.parametrize(
    ("code", "phase"), [(None, "Running"), (0, "Completed"), (1, "Failed")], ids=str
)
def test_settled_job_of_an_older_operator_is_not_written(world, code, phase):
    world.run(a_job().with_workers(1))
    if code is not None:
        world.kubelet.see_end("train-worker-0", code)
        world.kubelet.reap_all()
        world.settle()
    later = () if code is None else ("reason", "message")
    kept = {k: v for k, v in world.status().items() if k not in later}
    newer = (Condition.FINISHED, "Reconciling", "Stalled")
    kept["conditions"] = [c for c in kept["conditions"] if c["type"] not in newer]
    world.put({**world.job(), "status": kept})
    assert writes_nothing(world.settle())
    assert (world.phase(), world.status()) == (phase, kept)
