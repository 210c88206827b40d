"""The training in a job's pods, as the operator has read it from their logs."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from api.constants import Phase
from api.objects import format_time
from api.training import MAX_STEP, Metric, SavedCheckpoint, TrainingProgress
from reconcile.words.progress import Progress

READ_PHASES = frozenset({Phase.RUNNING, Phase.SCALING, Phase.COMPLETING})
"""The phases in which logs are read."""
Tail = tuple[str, datetime | None, str]
"""A pod's name, the time of its last line, and that line."""


@dataclass(frozen=True)
class Reading:
    """What this process has read from the log of a job's first worker in the job's attempt.

    `silent_seconds` is how long the log has had no new line, `stepless_seconds` how long it has had
    no new step; time in which the log could not be read does not count. If the first reading finds
    nothing newer than status, both go on from status's values, else from 0. `tails` has an entry
    for each worker whose log was read because a stall is suspected. `stepped_before`: at the first
    reading, status already had a step of the attempt, whose line the log has perhaps lost.
    `is_final`: the container had ended before the log was read.
    """

    progress: Progress
    attempt: int
    silent_seconds: float = 0.0
    stepless_seconds: float = 0.0
    tails: tuple[Tail, ...] = ()
    stepped_before: bool = False
    is_final: bool = False


def read_progress(old: TrainingProgress, reading: Reading) -> TrainingProgress:
    """The progress for the status, which has `old`, after this reading."""
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
        history=known.history,
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
