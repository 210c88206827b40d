"""A job that ends well says how far its training was; for that, its log is read once more."""

from datetime import timedelta

import pytest

from api.constants import Reason
from api.objects import Raw
from pdj.facts.facts import Facts
from pdj.facts.picture import JobPicture
from pdj.gather.progress import read_training
from pdj.judge.judge import judge
from pdj.session import Screen
from pdj.text.progress import describe_in_columns
from pdj.text.rows import row_of
from pdj.text.status import draw_job
from reconcile.attempt.completion import READ_END_SECONDS
from reconcile.model.plan import Settings, Wait
from reconcile.model.training import Reading
from reconcile.words.progress import Line, ProgressReader
from tests.memory.builders import a_job
from tests.memory.world import World

READS = Settings(progress=True)


class ClockOf:
    """The clock of a tool in a world."""

    def __init__(self, world: World) -> None:
        self.now = lambda: world.now


def run(workers: int = 2, settings: Settings = READS) -> World:
    """A job that has run for ten minutes."""
    world = World(settings=settings)
    world.run(a_job().with_workers(workers))
    world.advance(600)
    return world


def read(world: World, *texts: str, is_final: bool = True) -> None:
    """The log of the first worker is read, and the passes that this triggers are done."""
    lines = [Line(world.now - timedelta(seconds=len(texts) - at), t) for at, t in enumerate(texts)]
    world.training = Reading(ProgressReader().read(lines), 1, is_final=is_final)
    world.settle()


def end(world: World, *workers: int) -> None:
    """These workers exit with 0."""
    for index in workers:
        world.kubelet.end(f"train-worker-{index}", 0)
    world.settle()


def completed(world: World) -> Raw:
    """The condition."""
    (found,) = [each for each in world.status()["conditions"] if each["type"] == "Completed"]
    assert world.phase() == "Completed"
    condition: Raw = found
    return condition


OK, EARLY = Reason.WORKERS_SUCCEEDED, Reason.ENDED_EARLY
ENDS: dict[str, tuple[list[str], str, Reason]] = {
    "the last step": (["step 99/100 loss 0.3", "step 100/100 loss 1"], ", at step 100 of 100", OK),
    "early": (["step 10/100 loss 0.3"], ", at step 10 of 100", EARLY),
    "half": (["step 50/100 loss 0.3"], ", at step 50 of 100", OK),
    "less than half": (["step 49/100 loss 0.3"], ", at step 49 of 100", EARLY),
    "no total": (["step 10 loss 0.3"], ", at step 10", OK),
    "no step": (["bye"], "", OK),
    "nothing": ([], "", OK),
    "epochs alone": (["epoch 2/10 loss 0.3"], ", at epoch 2 of 10", EARLY),
    "the only epoch, from 0": (["Epoch 0/1 loss 0.3"], ", at epoch 0 of 1", OK),
    "epochs from 0": (["epoch 4/10 loss 0.3"], ", at epoch 4 of 10", OK),
    "step 0": (["paddlejob: step=0 total=10"], ", at step 0 of 10", OK),
    "10^18": ([f"paddlejob: step={10**18} total={10**19}"], "", OK),
}


@pytest.mark.parametrize(("texts", "said", "reason"), ENDS.values(), ids=ENDS)
def test_the_end_says_its_last_step(texts, said, reason):
    world = run()
    end(world, 0, 1)
    read(world, *texts)
    condition = completed(world)
    assert condition["message"] == f"2 workers ended well{said}"
    assert (condition["reason"], world.status()["reason"]) == (reason, reason)
    (told,) = [each for each in world.told if each.message == condition["message"]]
    assert told.type == ("Warning" if reason is EARLY else "Normal")


@pytest.mark.parametrize("worker", [0, 1])
def test_a_job_whose_ended_pod_goes_meanwhile_does_not_train_again(worker):
    world = run()
    world.kubelet.end_all("worker")
    assert world.settle().waits == {Wait.END_OF_LOG}
    world.remove("Pod", f"train-worker-{worker}")
    world.settle()
    world.advance(READ_END_SECONDS)
    world.settle()
    assert completed(world)["message"] == "2 workers ended well"
    assert world.status()["attempt"] == 1


def test_a_job_waits_for_its_last_lines():
    world = run()
    end(world, 0)
    world.kubelet.end("train-worker-1", 0)
    version = world.version + 1
    plan = world.settle()
    assert (set(plan.waits), plan.requeue_after) == ({Wait.END_OF_LOG}, READ_END_SECONDS)
    assert world.version == version, "one write: who has ended"
    read(world, "step 60/100 loss 0.5", is_final=False)
    assert world.phase() == "Completing", "an earlier read is not it"
    version = world.version
    read(world, "step 100/100 loss 0.25")
    progress = world.status()["progress"]
    assert (progress["step"], progress["percent"], progress["attempt"]) == (100, 100, 1)
    assert progress["metrics"] == [{"name": "loss", "value": "0.25"}]
    assert progress["lastOutputTime"] and progress["lastStepTime"]
    assert world.version == version + 1, "one write: the one of the end"


def test_a_log_that_cannot_be_read_delays_the_end_no_longer():
    world = run()
    read(world, "step 10/100 loss 0.5", is_final=False)
    world.kubelet.end_all("worker")
    world.settle()
    world.advance(READ_END_SECONDS - 1)
    assert world.settle().waits == {Wait.END_OF_LOG}
    world.advance(1)
    world.settle()
    assert completed(world)["message"] == "2 workers ended well", "how far it got is unknown"
    assert world.status()["progress"]["step"] == 10


@pytest.mark.parametrize("settings", [Settings(), READS], ids=["off", "on"])
def test_without_a_pod_or_progress_nothing_is_waited_for(settings):
    world = run(settings=settings)
    if settings.progress:
        end(world, 0)
        world.remove("Pod", "train-worker-0")
    end(world, *([1] if settings.progress else [0, 1]))
    assert completed(world)["message"] == "2 workers ended well"
    assert "progress" not in world.status()


LEFT = {
    "36 s before": ([(0, [1]), (36, [0])], "; worker-1 ended 36s before worker-0"),
    "before two others": ([(0, [1]), (36, [0, 2])], "; worker-1 ended 36s before the others"),
    "two before one": ([(0, [0, 1]), (36, [2])], "; 2 workers ended 36s before worker-2"),
    "together": ([(0, [0, 1]), (9, [2])], ""),
    "one after another": (
        [(0, [0]), (5, [1]), (60, [2])],
        "; 2 workers ended 60s before worker-2",
    ),
    "alone": ([(0, [0])], ""),
}


@pytest.mark.parametrize(("ends", "said"), LEFT.values(), ids=LEFT)
def test_the_end_says_who_left_long_before(ends, said):
    count = sum(len(workers) for _, workers in ends)
    world = run(count, Settings())
    for seconds, workers in ends:
        world.advance(seconds)
        end(world, *workers)
    assert completed(world)["message"] == f"{count} worker{'s' * (count > 1)} ended well{said}"


def test_all_tools_say_it():
    world = run()
    end(world, 0, 1)
    read(world, "step 9/100 loss 0.3", "step 10/100 loss 0.25")
    world.after(7200)
    picture = JobPicture(world.job())
    training = read_training(None, picture.job, ClockOf(world))  # type: ignore[arg-type]
    assert training is not None
    facts = Facts(picture, training)
    (first,) = judge(facts).findings
    assert (first.reason, first.message) == (
        "EndedEarly",
        "2 workers ended well, at step 10 of 100",
    )
    assert (row_of(picture.raw)["reason"], row_of(picture.raw)["warns"]) == ("EndedEarly", True)
    drawn = "\n".join(draw_job(facts, Screen(has_colour=False).paint, world.now, 200))
    last = training.progress.last_output_time
    assert last is not None
    assert f"step 10/100 (10 %)  loss 0.25  last output {last:%Y-%m-%d %H:%M:%S}Z" in drawn
    assert describe_in_columns(training) == ("10/100 (10 %)", "2h ago")
    assert "done in" not in drawn


@pytest.mark.parametrize("name", ["quietUntil", "lastOutputTime", "lastStepTime"])
@pytest.mark.parametrize("time", ["0000-01-01T00:00:00Z", "2026-01-02T03:04:05+99:99"])
def test_a_time_that_only_the_api_server_can_read_is_none(name, time):
    """Else one such status would end `list --progress` of all jobs."""
    world = run()
    end(world, 0, 1)
    read(world, "step 100/100 loss 0.25")
    world.change("PaddleJob", "train", lambda raw: raw["status"]["progress"].update({name: time}))
    training = read_training(None, JobPicture(world.job()).job, ClockOf(world))  # type: ignore[arg-type]
    assert training is not None
    assert describe_in_columns(training)[0] == "100/100 (100 %)"


def test_a_job_that_failed_keeps_what_was_read_last():
    world = run()
    read(world, "step 50/100 loss 0.5", is_final=False)
    before = world.status()["progress"]["lastOutputTime"]
    world.advance(20)
    world.training = Reading(ProgressReader().read([Line(world.now, "step 50/100 loss 0.4")]), 1)
    world.kubelet.end("train-worker-1", 1)
    world.settle()
    progress = world.status()["progress"]
    assert world.phase() == "Failed"
    assert (progress["metrics"][0]["value"], progress["lastOutputTime"] > before) == ("0.4", True)


def test_an_ended_job_is_not_written_again():
    world = run()
    end(world, 0, 1)
    read(world, "step 100/100 loss 0.25")
    before = world.version
    read(world, "step 100/100 loss 0.25", "step 200/200 loss 0.1")
    assert world.version == before
