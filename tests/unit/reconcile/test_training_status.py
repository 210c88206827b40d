"""`status.progress`: what it says of a log, when it is written, and that it says no more."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from api.objects import Raw
from api.schema_types import properties_of
from api.training import TrainingProgress
from reconcile.model.plan import Settings
from reconcile.model.training import Reading
from reconcile.reconcile import reconcile
from reconcile.words.progress import Checkpoint, Line, Progress, ProgressReader
from tests.memory.builders import NOW, JobBuilder, a_job, a_pod, at, stamp, status_of, view_of
from tests.memory.world import merge

READ = Progress(
    step=1200,
    total=40000,
    epoch=3,
    epochs=500,
    metrics=(("loss", "2.31"),),
    samples_per_second="268",
    last_output_time=at(100),
    last_step_time=at(100),
    first_step=1100,
    first_step_time=NOW,
)
SAVED = Checkpoint(1000, "out/checkpoint-1000", at(50))
SHOWN = {
    "attempt": 1,
    "step": 1200,
    "totalSteps": 40000,
    "percent": 3,
    "epoch": "3/500",
    "metrics": [{"name": "loss", "value": "2.31"}],
    "samplesPerSecond": "268",
    "estimatedEndTime": stamp(100 + 38800),
    "history": [f"1200 {stamp(100)} 2.31"],
    "lastOutputTime": stamp(100),
    "lastStepTime": stamp(100),
}


class Job:
    """A running job, which is reconciled until its status stands."""

    def __init__(self) -> None:
        self.job: JobBuilder = a_job().with_workers(1)
        self.pod = a_pod(self.job.build()).bound().running()
        self.writes = 0
        for _ in range(3):
            self.decide(None)

    def decide(self, reading: Reading | None, seconds: float = 120.0) -> Raw:
        """Its progress after a pass that saw this reading."""
        view = view_of(self.job, self.pod, training=reading)
        plan = reconcile(view.observed, at(seconds), Settings(progress=True))
        if plan.status is not None:
            self.writes += 1
            status = self.job.build().get("status", {})
            self.job.with_status(**merge(status, plan.status["status"]))
        return self.progress

    def read(
        self, progress: Progress, attempt: int = 1, seconds: float = 120.0, **more: Any
    ) -> Raw:
        reading = Reading(progress, attempt, **more)
        return self.decide(reading, seconds)

    @property
    def progress(self) -> Raw:
        status = self.job.build().get("status", {})
        progress: Raw = status.get("progress", {})
        return progress


@pytest.fixture
def job() -> Job:
    made = Job()
    assert made.job.build()["status"]["phase"] == "Running"
    made.writes = 0
    return made


def test_it_says_what_was_read(job):
    assert job.read(READ) == SHOWN
    assert job.writes == 1


def test_without_a_reading_there_is_none_and_no_write(job):
    assert job.decide(None) == {}
    assert job.writes == 0


@pytest.mark.parametrize(
    ("later", "writes"),
    [
        (READ._replace(step=1201, last_output_time=at(130)), 0),
        (READ._replace(step=1201, last_output_time=at(401)), 1),
        (READ._replace(step=1600), 1),
        (READ._replace(total=None), 1),
        (READ, 0),
    ],
    ids=["a step", "five minutes", "a percent", "a total that is gone", "nothing"],
)
def test_it_is_written_when_it_matters(job, later, writes):
    job.read(READ)
    job.read(later, seconds=500.0)
    assert job.writes == 1 + writes


def test_silence_is_written_every_five_minutes(job):
    job.read(READ)
    for seconds in range(0, 1000, 30):
        job.read(READ, seconds=200.0 + seconds, silent_seconds=seconds)
    assert job.writes == 1 + 3
    assert job.progress["silentSeconds"] == 900
    job.read(READ._replace(last_output_time=at(1120)), seconds=1200.0)  # it writes again
    assert "silentSeconds" not in job.progress


def test_an_announced_pause_is_written_once(job):
    job.read(READ)
    assert job.read(READ._replace(quiet_until=at(600)))["quietUntil"] == stamp(600)
    job.read(READ._replace(quiet_until=at(630)))  # the rest of it, announced again
    assert job.writes == 2


@pytest.mark.parametrize(("seconds", "writes"), [(300, 1), (570, 0), (1000, 0)])
def test_the_end_of_a_pause_is_written_if_it_is_early(job, seconds, writes):
    """Else a new leader would keep to it."""
    pausing = job.read(READ._replace(quiet_until=at(600)))
    after = job.read(READ, seconds=seconds)
    assert ("quietUntil" in pausing, "quietUntil" in after) == (True, not writes)
    assert job.writes == 1 + writes


def test_a_checkpoint_stays_also_in_the_next_attempt(job):
    job.read(READ._replace(checkpoint=SAVED))
    shown = {"step": 1000, "path": "out/checkpoint-1000", "time": stamp(50)}
    assert job.progress["checkpoint"] == shown
    assert job.read(READ._replace(step=2000))["checkpoint"] == shown
    job.job.with_status(attempt=2)
    job.pod = a_pod(job.job.build(), attempt=2).bound().running()
    progress = job.read(Progress(last_output_time=at(110)), attempt=2)
    assert progress == {"attempt": 2, "checkpoint": shown, "lastOutputTime": stamp(110)}


def test_a_checkpoint_seen_again_by_a_corrected_clock_is_no_news(job):
    job.read(READ._replace(checkpoint=SAVED))
    job.read(READ._replace(checkpoint=replace(SAVED, time=at(53))))
    assert job.writes == 1


def test_a_reading_of_another_attempt_counts_for_nothing(job):
    assert job.read(READ, attempt=2) == {}


def test_lines_that_scrolled_out_of_a_new_leaders_sight_are_kept(job):
    job.read(READ)
    progress = job.read(Progress(last_output_time=at(500)), seconds=510.0)
    assert progress == SHOWN | {"lastOutputTime": stamp(500)}


@pytest.mark.parametrize(
    ("read", "shown"),
    [
        (Progress(last_output_time=NOW), {"lastOutputTime": stamp()}),
        (Progress(step=0), {"step": 0}),
        (Progress(step=10**16), {}),
        (Progress(step=1, total=10**16), {"step": 1, "percent": 0}),
        (Progress(step=1, epoch=3), {"step": 1, "epoch": "3"}),
        (
            Progress(step=1, metrics=(("loss", "nan"),)),
            {"step": 1, "metrics": [{"name": "loss", "value": "nan"}]},
        ),
        (
            READ._replace(step=1101, total=10**15, metrics=()),
            SHOWN | {"step": 1101, "totalSteps": 10**15, "percent": 0},
        ),
    ],
    ids=["output", "the first", "huge", "huge total", "an epoch", "nan", "centuries"],
)
def test_odd_progress_is_shown_as_far_as_it_is_any(job, read, shown):
    expected = {"attempt": 1} | shown
    if read.first_step == 1100:
        without = ("metrics", "estimatedEndTime", "history")
        expected = {k: v for k, v in expected.items() if k not in without}
    assert job.read(read) == expected


@pytest.mark.parametrize("epoch", ["999999999999m/999999999999m", "999999m/999999.999m"])
def test_no_epoch_is_longer_than_the_api_server_takes(job, epoch):
    line = Line(NOW, f"paddlejob: step=1 epoch={epoch}")
    read = job.read(ProgressReader().read([line]))
    longest = properties_of(TrainingProgress)["epoch"]["maxLength"]
    assert (read["step"], len(read.get("epoch", "")) <= longest) == (1, True)


def test_a_job_that_does_not_run_keeps_what_was_read_before(job):
    job.read(READ)
    view = view_of(job.job, training=Reading(READ._replace(step=9999), 1))
    plan = reconcile(view.observed, NOW + timedelta(seconds=600), Settings(progress=True))
    assert status_of(plan)["phase"] == "Pending"
    assert "progress" not in status_of(plan)
