"""Writes `status.progress`: the training's progress, as read from the first worker's log.

It is written when the percentage or the checkpoint changes, a pause is announced or ends early, the
log grows again after long silence, or the job's conditions change; else every five minutes. A
checkpoint stays in status across attempts, because a resume uses it. All values are numbers or
short names, except for the checkpoint's path.
"""

from dataclasses import replace
from datetime import datetime

from api.objects import parse_time
from api.status import JobStatus
from api.training import TrainingProgress, add_point
from reconcile.model.training import READ_PHASES, read_progress
from reconcile.model.view import View

WRITE_SECONDS = 300.0
QUIET_SECONDS = 60.0
"""A pause is written if its remaining time differs by this much from that in status."""


def note_progress(view: View, status: JobStatus) -> JobStatus:
    """The status with the progress that was read in this attempt, if it is time to write it."""
    reading = view.training
    if reading is None or not (status.is_terminal or status.phase in READ_PHASES):
        return status
    old, new = status.progress, read_progress(status.progress, reading)
    is_due = (
        status.is_terminal  # its last one: an ended job is written only once
        or (old.attempt, old.percent, old.checkpoint) != (new.attempt, new.percent, new.checkpoint)
        or _news(view.job.status) != _news(status)
        or abs(_read_until(new) - _read_until(old)) >= WRITE_SECONDS
        or abs(_quiet_seconds(new, view.now) - _quiet_seconds(old, view.now)) >= QUIET_SECONDS
        or old.silent_seconds - new.silent_seconds >= WRITE_SECONDS  # the log grows again
    )
    return replace(status, progress=_with_point(new)) if is_due else status


def _with_point(progress: TrainingProgress) -> TrainingProgress:
    """The progress, with its last step in its history."""
    if (point := progress.point) is None:
        return progress
    return replace(progress, history=tuple(map(str, add_point(progress.history, point))))


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
