"""Writes `status.progress`: the training's progress, as read from the first worker's log.

It is written when the percentage or the checkpoint changes, or with another change of the job's
conditions, else every five minutes. A checkpoint stays, over attempts too, because a resume uses
it. It has only numbers, short names and one path.
"""

from dataclasses import replace
from datetime import timedelta

from api.objects import format_time, parse_time
from api.status import JobStatus
from api.training import Metric, SavedCheckpoint, TrainingProgress
from reconcile.model.training import READ_PHASES, Reading
from reconcile.model.view import View
from reconcile.words.progress import Progress

WRITE_SECONDS = 300.0
MAX_STEP = 10**15
"""Larger numbers are not taken for steps; beyond 2**63 the API server would refuse the status."""
MAX_REMAINING_SECONDS = 10 * 365 * 86400.0
"""A longer time to the end is left out."""


def note_progress(view: View, status: JobStatus) -> JobStatus:
    """The status with the progress that was read in this attempt, if it is time to write it."""
    reading = view.observed.training
    if reading is None or reading.attempt != view.attempt or status.phase not in READ_PHASES:
        return status
    old, new = status.progress, _progress(status.progress, reading)
    is_due = (
        (old.attempt, old.percent, old.checkpoint) != (new.attempt, new.percent, new.checkpoint)
        or _news(view.job.status) != _news(status)
        or _seconds_between(old.last_output_time, new.last_output_time) >= WRITE_SECONDS
        or new.silent_seconds - old.silent_seconds >= WRITE_SECONDS
    )
    return replace(status, progress=new) if is_due else status


def _news(status: JobStatus) -> list[tuple[str, bool, str]]:
    """The conditions without their times: if these change, the status is written anyway."""
    return [(each.type, each.status, each.reason) for each in status.conditions]


def _seconds_between(old: str, new: str) -> float:
    """Seconds between two times; 0 if the new one is unknown, infinite if only the old one is."""
    before, after = parse_time(old), parse_time(new)
    if after is None:
        return 0.0
    return abs((after - before).total_seconds()) if before else float("inf")


def _progress(old: TrainingProgress, reading: Reading) -> TrainingProgress:
    read = reading.progress
    is_same = old.attempt == reading.attempt
    known = old if is_same else TrainingProgress()  # its lines may have scrolled out of the log
    is_news = known.step is None if read.step is None else read.step <= MAX_STEP
    new = _steps(read) if is_news else known
    saved, last = read.checkpoint, read.last_output_time
    if saved is not None and saved.step <= MAX_STEP:
        checkpoint = SavedCheckpoint(saved.step, saved.path, format_time(saved.time))
    else:
        checkpoint = old.checkpoint
    return replace(
        new,
        attempt=reading.attempt,
        checkpoint=_keep_time(old.checkpoint, checkpoint),
        last_output_time=format_time(last) if last else new.last_output_time,
        silent_seconds=int(reading.silent_seconds),
        stepless_seconds=int(reading.stepless_seconds),
    )


def _keep_time(old: SavedCheckpoint, new: SavedCheckpoint) -> SavedCheckpoint:
    """The checkpoint. If it is the stored one, the stored time stays, because the correction for
    the node's clock varies from read to read.
    """
    return old if (old.step, old.path) == (new.step, new.path) else new


def _steps(read: Progress) -> TrainingProgress:
    """The fields that go with a step."""
    epoch = "" if read.epoch is None else str(read.epoch)
    is_of = read.epoch is not None and read.epochs is not None
    last, remaining = read.last_step_time, read.remaining_seconds
    ends = last is not None and remaining is not None and remaining < MAX_REMAINING_SECONDS
    return TrainingProgress(
        step=read.step,
        total_steps=read.total if read.total is not None and read.total <= MAX_STEP else None,
        percent=read.percent,
        epoch=f"{epoch}/{read.epochs}" if is_of else epoch,
        metrics=tuple(Metric(*each) for each in read.metrics),
        samples_per_second=read.samples_per_second or "",
        estimated_end_time=(
            format_time(last + timedelta(seconds=remaining))
            if ends and last is not None and remaining is not None
            else ""
        ),
        last_step_time=format_time(last) if last else "",
    )
