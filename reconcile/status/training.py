"""Writes `status.progress`: the training's progress, as read from the first worker's log.

It is written when the percentage or the checkpoint changes, a pause is announced or ends early, the
log grows again after long silence, or the job's conditions change; else every five minutes. A
checkpoint stays in status across attempts, because a resume uses it. All values are numbers or
short names, except for the checkpoint's path.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from api.objects import format_time, parse_time
from api.status import JobStatus
from api.training import Metric, SavedCheckpoint, TrainingProgress
from reconcile.model.training import READ_PHASES, Reading
from reconcile.model.view import View
from reconcile.words.progress import Progress

WRITE_SECONDS = 300.0
QUIET_SECONDS = 60.0
"""A pause is written if its remaining time differs by this much from that in status."""
MAX_STEP = 10**15
"""Larger numbers are no steps; with one beyond 2**63, the API server would refuse the status."""


def note_progress(view: View, status: JobStatus) -> JobStatus:
    """The status with the progress that was read in this attempt, if it is time to write it."""
    reading = view.training
    if reading is None or status.phase not in READ_PHASES:
        return status
    old, new = status.progress, _progress(status.progress, reading)
    is_due = (
        (old.attempt, old.percent, old.checkpoint) != (new.attempt, new.percent, new.checkpoint)
        or _news(view.job.status) != _news(status)
        or abs(_read_until(new) - _read_until(old)) >= WRITE_SECONDS
        or abs(_quiet_seconds(new, view.now) - _quiet_seconds(old, view.now)) >= QUIET_SECONDS
        or old.silent_seconds - new.silent_seconds >= WRITE_SECONDS  # the log grows again
    )
    return replace(status, progress=new) if is_due else status


def _news(status: JobStatus) -> list[tuple[str, bool, str]]:
    """The conditions without their times: if these change, the status is written anyway."""
    return [(each.type, each.status, each.reason) for each in status.conditions]


def _read_until(progress: TrainingProgress) -> float:
    """The time up to which the log was read, in seconds since 1970 by the API server's clock."""
    last = parse_time(progress.last_output_time)
    return (last.timestamp() if last else 0.0) + progress.silent_seconds


def _quiet_seconds(progress: TrainingProgress, now: datetime) -> float:
    until = parse_time(progress.quiet_until)
    return max(0.0, (until - now).total_seconds()) if until else 0.0


def _progress(old: TrainingProgress, reading: Reading) -> TrainingProgress:
    read = reading.progress
    # The lines of known progress have perhaps scrolled out of the log.
    known = old if old.attempt == reading.attempt else TrainingProgress()
    is_news = known.step is None if read.step is None else read.step <= MAX_STEP
    new = _steps(read) if is_news else known
    saved, checkpoint = read.checkpoint, old.checkpoint
    # A known checkpoint keeps its time, as the correction of the node's clock varies between reads.
    is_later = saved and (saved.step, saved.path) != (checkpoint.step, checkpoint.path)
    if saved and is_later and saved.step <= MAX_STEP:
        checkpoint = SavedCheckpoint(saved.step, saved.path, format_time(saved.time))
    return replace(
        new,
        attempt=reading.attempt,
        checkpoint=checkpoint,
        last_output_time=format_time(read.last_output_time) or new.last_output_time,
        silent_seconds=int(reading.silent_seconds),
        stepless_seconds=int(reading.stepless_seconds),
        quiet_until=format_time(read.quiet_until),
    )


def _steps(read: Progress) -> TrainingProgress:
    """The progress in status, without its checkpoint and the time of the last output."""
    epoch = "" if read.epoch is None else f"{read.epoch}/{read.epochs}".removesuffix("/None")
    last, remaining = read.last_step_time, read.remaining_seconds
    end = last + timedelta(seconds=remaining) if last and remaining is not None else None
    return TrainingProgress(
        step=read.step,
        total_steps=read.total if read.total is not None and read.total <= MAX_STEP else None,
        percent=read.percent,
        epoch=epoch,
        metrics=tuple(Metric(*each) for each in read.metrics),
        samples_per_second=read.samples_per_second or "",
        estimated_end_time=format_time(end),
        last_step_time=format_time(last),
    )
