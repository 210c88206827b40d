"""A loss that stays nan or inf is told once, and ends the job where its policy says so."""

from datetime import timedelta
from itertools import pairwise

import pytest

from api.constants import Condition, Reason
from api.objects import Raw
from pdj.facts.facts import Facts
from pdj.facts.picture import JobPicture
from pdj.facts.training import Training
from pdj.judge.judge import judge
from pdj.session import Screen
from pdj.text.progress import describe_training
from pdj.text.rows import row_of
from pdj.text.status import draw_job
from reconcile.model.plan import Settings
from reconcile.model.training import Reading
from reconcile.status.not_finite import HOLD
from reconcile.words.progress import Line, Progress, ProgressReader
from tests.memory.builders import NOW, a_job
from tests.memory.world import World

FAIL = {"stallPolicy": {"notFinite": "Fail"}}
TRUE, FALSE, NOT = ("True", "LossNotFinite"), ("False", "LossFinite"), ("", "")


def lines(
    *losses: object, first: int = 1, every: int = 1, form: str = "step {} loss {}"
) -> list[str]:
    """A line for each loss, at every so many steps."""
    return [form.format(first + every * at, loss) for at, loss in enumerate(losses)]


def progress(texts: list[str], reader: ProgressReader | None = None) -> Progress:
    """What a reader makes of these lines, which follow those that it has read."""
    read = (Line(NOW + timedelta(seconds=at), text) for at, text in enumerate(texts))
    return (reader or ProgressReader()).read(read)


NANS = ["nan"] * 3
MARKED = "paddlejob: step={} loss={}"
SINCE_2 = "the loss is nan since step 2"
SINCE_11 = "the loss is nan since step 11"
READ: dict[str, tuple[list[str], str]] = {
    "finite": (lines(0.3, 0.2, 0.1), ""),
    "from step 11 on": (lines(*[0.3] * 10, *NANS), SINCE_11),
    "NaN": (lines(*[0.3] * 10, *["NaN"] * 3), SINCE_11),
    "-nan, as C prints it": (lines(*[0.3] * 10, *["-nan"] * 3), SINCE_11),
    "JSON": (
        lines("Infinity", "-Infinity", "NaN", form='{{"step": {}, "loss": {}}}'),
        "the loss is nan since step 1",
    ),
    "JSON without steps": (
        lines(*[0.3] * 10, *["NaN", "Infinity", "-Infinity"], form='{{"at": {}, "loss": {}}}'),
        "the loss is -inf",
    ),
    "texts without steps": (
        lines(0.3, *NANS, form="{{'at': {}, 'loss': '{}'}}"),
        "the loss is nan",
    ),
    "lists without steps": (lines(0.3, *NANS, form="{} loss: [{}]"), "the loss is nan"),
    "tensors without steps": (lines(0.3, *NANS, form="{} loss: tensor({})"), "the loss is nan"),
    "inf": (lines(0.3, *["inf"] * 3), "the loss is inf since step 2"),
    "-inf": (lines(0.3, *["-inf"] * 3), "the loss is -inf since step 2"),
    "one of them": (lines(0.3, "nan"), ""),
    "two of them": (lines(0.3, "inf", "inf"), ""),
    "two of them, ten steps apart": (
        lines(0.3, "nan", "nan", every=10),
        "the loss is nan since step 11",
    ),
    "finite in the next": (lines(*NANS, 0.3), ""),
    "every second one": (lines(*["nan", 0.3] * 9, "nan"), ""),
    "-0 is finite": (lines(*NANS, "-0"), ""),
    "1e400 is unknown": (lines(*["1e400"] * 9), ""),
    "1e400 between them": (
        lines(0.3, "nan", "1e400", "nan"),
        "the loss is nan since step 2",
    ),
    "another number is not finite": (lines(*[0.3] * 9, form="step {} loss {} grad_norm: inf"), ""),
    "a loss that is named after it": (
        lines(*[0.3] * 9, form="[INFO] step {} loss {} ppl: nan"),
        "",
    ),
    "lines without a loss between": (
        [text for each in lines(0.3, *NANS) for text in (each, "step 1 lr 0.1", "saved")],
        "the loss is nan since step 2",
    ),
    "of an evaluation": (lines(*NANS, form="Evaluating step {} loss {}"), ""),
    "marked": (lines(*[0.3] * 10, *NANS, form=MARKED), SINCE_11),
    "marked finite, whatever a tool says": (
        [*lines(0.3, form=MARKED), *lines(*["nan"] * 9)],
        "",
    ),
    "two ranks print one step": (["step 1 loss inf"] * 30, ""),
    "steps go back": (
        [*lines(0.1, "nan", "nan", first=90), *lines("nan", "nan")],
        "the loss is nan since step 91",
    ),
    "steps of 10^12": (
        lines(0.3, "nan", "nan", first=10**11, every=10**11),
        "the loss is nan since step 200,000,000,000",
    ),
    "of a part": (lines(*["nan"] * 30, form="step {} loss_clip: {}"), ""),
    "the best one before an evaluation": (lines(*["inf"] * 30, form="step {} best_loss: {}"), ""),
    "a part beside it": (lines(0.3, *NANS, form="step {} ctc_loss 0.1 loss {}"), SINCE_2),
    "marks without a loss": (
        [text for each in lines(0.3, *NANS) for text in ("paddlejob: step=1 val_loss=1", each)],
        SINCE_2,
    ),
    "a bar that overwrites itself": (["step 1 loss nan\rstep 9 loss nan\rstep 10 loss 0.3\r"], ""),
}


@pytest.mark.parametrize(("texts", "said"), READ.values(), ids=READ)
def test_a_run_of_losses_is_read(texts, said):
    run = progress(texts).losses
    assert (str(run) if run and run.is_lasting else "") == said


@pytest.mark.parametrize(("texts", "said"), READ.values(), ids=READ)
def test_it_is_the_same_in_parts(texts, said):
    reader = ProgressReader()
    for each in texts:
        run = progress([each], reader).losses
    assert (str(run) if run and run.is_lasting else "") == said


def test_a_first_one_that_nobody_saw_is_not_named():
    reader = ProgressReader()
    progress(lines(*[0.3] * 3), reader)
    run = progress(lines(*["nan"] * 40, first=3011), reader).losses
    assert str(run) == "the loss is nan since step 3,011 or before"


FATAL = {
    "twenty steps": (lines(*["nan"] * 20), True),
    "nineteen": (lines(*["nan"] * 19), False),
    "five lines, twenty steps": (lines(*["nan"] * 5, every=5), True),
    "four lines, thirty steps": (lines(*["nan"] * 4, every=10), False),
    "a line, however far": (lines("nan", first=10**9), False),
    "a scale of 2**16 that halves": (lines(*["inf"] * 16), False),
    "thirty ranks print one step": (["step 1 loss inf"] * 30, False),
}


@pytest.mark.parametrize(("texts", "is_fatal"), FATAL.values(), ids=FATAL)
def test_a_run_is_fatal_after_twenty_steps(texts, is_fatal):
    run = progress(texts).losses
    assert run is not None
    assert run.is_fatal == is_fatal


# What the operator says and does


class Log:
    """The log of the first worker, as one operator process reads it."""

    def __init__(self, world: World, attempt: int = 1) -> None:
        self.world, self.attempt = world, attempt
        self.reader = ProgressReader()

    def read(self, texts: list[str], silent: float = 0.0) -> None:
        """These lines are new; the passes that this triggers are done."""
        read = progress(texts, self.reader)
        self.world.training = Reading(read, self.attempt, silent, silent)
        self.world.settle()


def run(world: World, **spec: object) -> Log:
    """A job of two workers that has run for ten minutes."""
    world.run(a_job().with_workers(2).with_spec(**{"backoffLimit": 3, **spec}))
    world.advance(600)
    return Log(world)


def said(world: World) -> tuple[str, str]:
    """Status and reason of the condition."""
    found = [c for c in world.status()["conditions"] if c["type"] == Condition.LOSS_NOT_FINITE]
    return (found[0]["status"], found[0]["reason"]) if found else NOT


def events(world: World) -> list[str]:
    """The messages of the Events about it."""
    return [each.message for each in world.told if each.reason == Reason.LOSS_NOT_FINITE]


POLICIES: dict[str, tuple[Raw, int, str]] = {
    "no policy": ({}, 400, "Running"),
    "one without it": ({"stallPolicy": {"afterSeconds": 300}}, 400, "Running"),
    "Event": ({"stallPolicy": {"notFinite": "Event"}}, 400, "Running"),
    "Fail": (FAIL, 20, "Failed"),
    "Fail, not yet": (FAIL, 19, "Running"),
    "Fail, without restarts left": ({**FAIL, "backoffLimit": None}, 20, "Failed"),
}


@pytest.mark.parametrize(("spec", "count", "phase"), POLICIES.values(), ids=POLICIES)
def test_it_is_told_once_and_acted_on_by_the_policy(world, spec, count, phase):
    log = run(world, **spec)
    log.read(lines(*[0.3] * 10))
    for at in range(0, count, 5):
        world.advance(30)
        log.read(lines(*["nan"] * min(5, count - at), first=11 + at))
    status = world.status()
    assert (said(world), world.phase(), status["reason"]) == (TRUE, phase, "LossNotFinite")
    assert events(world) == [SINCE_11] * (1 + (phase == "Failed"))
    assert (status["attempt"], status.get("failureCount", 0)) == (1, 0)
    assert status["message"] == SINCE_11


def test_a_job_that_failed_for_it_says_so_in_its_record(world):
    log = run(world, **FAIL)
    log.read(lines(0.3, *["nan"] * 30))
    (record,) = world.status()["failures"]
    assert (record["pod"], record["reason"]) == ("train-worker-0", "LossNotFinite")
    assert record["message"].startswith("the loss is nan since step 2")
    assert record["node"]
    (failed,) = [outcome for outcome in world.counted if outcome.kind == "failed"]
    assert failed.reason == Reason.LOSS_NOT_FINITE


def test_it_ends_when_the_loss_is_finite_again(world):
    log = run(world, **FAIL)
    log.read(lines(*["inf"] * 16))
    assert said(world) == TRUE
    log.read(lines(0.3, first=17))
    assert (said(world), world.phase(), world.status()["reason"]) == (
        FALSE,
        "Running",
        "AllPodsRunning",
    )
    log.read(lines(*["nan"] * 2, first=18))
    assert said(world) == FALSE
    world.advance(HOLD.total_seconds() - 1)
    log.read(lines("nan", first=20))
    assert (said(world), len(events(world))) == (FALSE, 1)
    world.advance(1)
    log.read(lines("nan", first=21))
    assert (said(world), len(events(world))) == (TRUE, 2)


def test_it_does_not_turn_with_every_read(world):
    log = run(world)
    turns = []
    for at in range(120):
        world.advance(30)
        log.read(lines(*["inf"] * 3 if at % 2 else [0.3], first=3 * at))
        turns.append(said(world))
    changes = sum(one != other for one, other in pairwise(turns))
    assert 2 <= changes <= 2 * 3600 / HOLD.total_seconds()


def test_it_is_written_when_it_turns_and_never_else(world):
    log = run(world)
    log.read(lines(0.3))
    versions = []
    for texts in (lines(*NANS, first=2), lines(*["inf"] * 40, first=5), lines("nan", first=45)):
        world.advance(30)
        log.read(texts)
        versions.append(world.version)
    assert len({*versions}) == 1


def test_a_new_leader_says_nothing_new(world):
    run(world, **FAIL).read(lines(0.3, *NANS))
    world.training = None
    world.settle()
    before = world.version
    Log(world).read(lines(*["nan"] * 2, first=900))
    assert (said(world), world.version) == (TRUE, before)
    Log(world).read(["no loss"])
    assert (said(world), world.version) == (TRUE, before)
    Log(world).read(lines(*["nan"] * 30, first=900))
    assert (world.phase(), world.status()["message"]) == (
        "Failed",
        "the loss is nan since step 2",
    )


def test_nothing_is_done_before_the_log_was_read(world):
    run(world, **FAIL).read(lines(*["nan"] * 19))
    world.training = None
    world.after(600)
    assert (said(world), world.phase()) == (TRUE, "Running")


def test_a_new_attempt_begins_without_it(world):
    run(world).read(lines(0.3, *NANS))
    world.kubelet.end("train-worker-1", 1)
    world.settle()
    assert (world.status()["attempt"], said(world)) == (2, ("False", "Ended"))
    world.kubelet.let_go()
    world.run()
    assert world.status()["reason"] == "AllPodsRunning"
    Log(world, attempt=2).read(lines(0.3, *NANS))
    assert (said(world), len(events(world))) == (TRUE, 2)


def test_a_stalled_job_whose_loss_is_lost_is_not_restarted(world):
    log = run(world, stallPolicy={"notFinite": "Fail", "action": "Restart", "afterSeconds": 120})
    log.read(lines(*["nan"] * 30), silent=500)
    assert (world.phase(), world.status()["attempt"]) == ("Failed", 1)


@pytest.mark.parametrize("without", ["conditions", "progress"])
def test_a_status_of_the_release_before_gets_it(world, without):
    run(world)
    world.change("PaddleJob", "train", lambda job: job["status"].pop(without, None))
    Log(world).read(lines(*NANS))
    assert said(world) == TRUE


def test_without_progress_nothing_is_said(world):
    run(world, **FAIL)
    before = world.version
    world.after(600)
    assert (said(world), world.version) == (NOT, before)


@pytest.mark.parametrize(("count", "phase"), [(19, "Completed"), (20, "Failed")])
def test_a_job_that_ends_before_it_is_read_fails_too(count, phase):
    """Else whoever waits for the end would take weights that are of no use."""
    world = World(settings=Settings(progress=True))
    run(world, **FAIL)
    for index in range(2):
        world.kubelet.end(f"train-worker-{index}", 0)
    world.settle()
    read = progress(lines(0.3, *["nan"] * count))
    world.training = Reading(read, 1, is_final=True)
    world.settle()
    assert (world.phase(), said(world), world.status()["attempt"]) == (phase, TRUE, 1)
    assert world.status()["message"] == "the loss is nan since step 2"


def test_a_job_that_ended_well_still_says_so(world):
    run(world).read(lines(0.3, *NANS))
    for index in range(2):
        world.kubelet.end(f"train-worker-{index}", 0)
    world.settle()
    status = world.status()
    assert (world.phase(), said(world), status["reason"]) == ("Completed", TRUE, "LossNotFinite")
    picture = JobPicture(world.job())
    row = row_of(picture.raw)
    assert (row["reason"], row["warns"]) == ("LossNotFinite", True)
    findings = judge(Facts(picture)).findings
    assert [each.reason for each in findings] == ["LossNotFinite", "WorkersSucceeded"]
    assert "restart" not in findings[0].meaning.next_step[0]


def test_nothing_is_written_to_a_job_that_has_ended(world):
    log = run(world)
    log.read(lines(0.3))
    for index in range(2):
        world.kubelet.end(f"train-worker-{index}", 0)
    world.settle()
    before = world.version
    log.read(lines(*NANS, first=2))
    assert (said(world), world.version) == (NOT, before)


def test_a_clock_that_goes_back_changes_nothing():
    texts = lines(*[0.3] * 10, *NANS)
    read = [Line(NOW - timedelta(seconds=at), text) for at, text in enumerate(texts)]
    assert str(ProgressReader().read(read).losses) == SINCE_11


@pytest.mark.parametrize("reads", ["the operator", "the tool"])
def test_all_tools_say_it(world, reads):
    log = run(world)
    texts = lines(0.3, *NANS)
    log.read(texts if reads == "the operator" else [])
    training = Training(world.now, progress(texts))
    facts = Facts(JobPicture(world.job()), training)
    first = judge(facts).findings[0]
    told = "the loss is nan since step 2"
    assert (first.reason, first.message) == ("LossNotFinite", told)
    drawn = draw_job(facts, Screen(has_colour=False).paint, world.now, 200)
    assert sum("LossNotFinite" in line and told in line for line in drawn) == 1
    assert "not finite since step 2" in describe_training(training)
    assert "自第 2 步起不是有限数" in describe_training(training, "zh")
