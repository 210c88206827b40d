"""A job's training: what the operator does when it stalls, and its progress.

The progress comes from a program's log, so it has only numbers, short names and one path. An
unknown value is None or empty, and left out of the JSON.
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import takewhile
from typing import NamedTuple

from api.objects import Raw, dump_fields, format_time, moment_of, parse_fields
from api.schema_types import (
    a_count,
    a_long,
    a_string,
    an_enum,
    an_integer,
    an_object,
    count_field,
    list_field,
    properties_of,
    text_field,
    time_field,
    typed_field,
)

MIN_STALL_SECONDS = 120
"""The least `afterSeconds`: a job's log is read every 30 s at best."""
STALL_SECONDS = 900
FIRST_STEP_FACTOR = 4
MAX_METRICS = 8
MAX_METRIC_NAME = 40
MAX_PATH = 256
MAX_STEP = 10**15
"""Larger numbers are no steps; with one beyond 2**63, the API server would refuse the status."""
MAX_POINTS = 60
RESUME_VARIABLE = "PDC_INIT_STEP"
"""PaddleFormers' trainer resumes from the checkpoint of the step in this variable."""


class StallSign(StrEnum):
    """The sign that a job has stalled."""

    OUTPUT = "Output"  # the log has no new line
    STEP = "Step"  # the log has no new step


class StallAction(StrEnum):
    """The reaction to a stall."""

    EVENT = "Event"  # a condition, an Event and a metric
    RESTART = "Restart"  # also a new attempt, counted against backoffLimit


class NotFiniteAction(StrEnum):
    """The reaction to a loss that stays nan or inf. A restart would only repeat it."""

    EVENT = "Event"  # a condition and an Event
    FAIL = "Fail"  # the job fails


class Resume(StrEnum):
    """The convention by which a program learns where to resume."""

    PADDLE = "Paddle"  # PDC_INIT_STEP


@dataclass(frozen=True, slots=True)
class StallPolicy:
    """When a running job counts as stalled, in seconds, and what the operator then does.

    `not_finite` is the reaction to a loss that is no finite number, which is no stall.
    """

    after_seconds: int = STALL_SECONDS
    first_step_seconds: int = FIRST_STEP_FACTOR * STALL_SECONDS
    of: StallSign = StallSign.OUTPUT
    action: StallAction = StallAction.EVENT
    not_finite: NotFiniteAction = NotFiniteAction.EVENT


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that the program reports, as text, because it can be nan."""

    name: str = text_field("Its name, as the program writes it.", MAX_METRIC_NAME)
    value: str = text_field("Its last value.", 32)


@dataclass(frozen=True, slots=True)
class SavedCheckpoint:
    """A finished checkpoint."""

    step: int | None = typed_field(a_long("The step after which it was saved."), None)
    path: str = text_field("Its path, if the log has it.", MAX_PATH)
    time: str = time_field("When the log reported it.")


class Point(NamedTuple):
    """A point of the curve: the loss after this step, and when that was."""

    step: int
    time: datetime
    loss: float

    def __str__(self) -> str:
        return f"{self.step} {format_time(self.time)} {self.loss:.6g}"


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """The progress of the training. Times are those of the log's lines, by the node's clock.

    `silent_seconds` and `stepless_seconds` are as of the last write of the status. A new leader of
    the operator goes on counting from them, and respects `quiet_until` even if the line that
    announced the pause is no longer in the log.
    """

    attempt: int = count_field("The attempt whose log was read.")
    step: int | None = typed_field(a_long("The last step."), None)
    total_steps: int | None = typed_field(a_long("The number of steps in all."), None)
    percent: int | None = typed_field(a_count("The steps done, in percent."), None)
    epoch: str = text_field("The epoch, and the number of epochs if known, e.g. 3/500.", 32)
    metrics: tuple[Metric, ...] = list_field(
        "Numbers that the program reports.",
        an_object("A number and its name.", properties_of(Metric)),
        MAX_METRICS,
    )
    samples_per_second: str = text_field("The program's own measure of its pace.", 32)
    estimated_end_time: str = time_field("When the last step will be done, at the present pace.")
    checkpoint: SavedCheckpoint = field(
        default_factory=SavedCheckpoint,
        metadata=an_object("The last finished checkpoint.", properties_of(SavedCheckpoint)),
    )
    last_output_time: str = time_field("When the log's last line was written.")
    last_step_time: str = time_field("When the step last changed.")
    silent_seconds: int = count_field("Seconds without a new line, as of this status.")
    stepless_seconds: int = count_field("Seconds without a new step, as of this status.")
    quiet_until: str = time_field("The end of the pause that the program has announced.")
    history: tuple[str, ...] = list_field(
        "The curve of the attempt: step, time and loss.", a_string("A point.", 64), MAX_POINTS + 4
    )

    def curve_of(self, attempt: int) -> list[Point]:
        """The points of this attempt, as far as the operator has seen it."""
        return list(parse_history(self.history)) if 0 < self.attempt == attempt else []

    @property
    def point(self) -> Point | None:
        """The point of the last step; None if the step or its loss is unknown, or no number."""
        losses = [each.value for each in self.metrics if each.name.lower() == "loss"]
        with suppress(IndexError, ValueError):
            text = f"{self.step} {self.last_step_time} {float(losses[0]) + 0.0:.6g}"
            return next(parse_history([text]), None)
        return None


def parse_history(texts: Iterable[object]) -> Iterator[Point]:
    """The points of a history, in order of time. Drops whatever is not as `Point` writes it."""
    last = None
    for text in texts:
        with suppress(ValueError, OverflowError):
            step, time, number = str(text).split(" ")
            when, loss = moment_of(time), float(number)
            if when is None or not math.isfinite(loss) or not 0 <= int(step) <= MAX_STEP:
                continue
            point = Point(int(step), when, loss)
            if str(point) == text and (last is None or last.time <= when):
                last = point
                yield point


def add_point(texts: Iterable[object], new: Point) -> list[Point]:
    """The points of a history, and a new one. Points after its time are of a wrong clock, and go.

    The last one gives way if it is closer to the one before than a sixtieth of the whole time, and
    of 60 points every second one stays: so they are spread over the attempt, however long it takes.
    """
    points = [*takewhile(lambda each: each.time <= new.time, parse_history(texts))]
    if points and points[-1][:2] == new[:2]:
        return points
    if len(points) > 1:
        last, whole = points[-1].time - points[-2].time, new.time - points[0].time
        points = points[:-1] if last < whole / MAX_POINTS else points
    return [*(points if len(points) < MAX_POINTS else points[::2]), new]


def training_schema() -> Raw:
    """The schemas of `spec.stallPolicy` and `spec.resume`."""
    return {
        "stallPolicy": an_object(
            "When a running job counts as stalled: it holds its nodes and does not train. Needs "
            "the operator's flag --progress. Unset: never; a loss that is not finite is reported.",
            {
                "afterSeconds": an_integer(
                    "Seconds without a new line of output, or without a new step. "
                    f"Unset: {STALL_SECONDS}.",
                    MIN_STALL_SECONDS,
                ),
                "firstStepSeconds": an_integer(
                    "Replaces afterSeconds until the first step of an attempt. "
                    f"Unset: {FIRST_STEP_FACTOR} times afterSeconds.",
                    MIN_STALL_SECONDS,
                ),
                "of": an_enum(
                    "The sign of a stall. Output: the first worker's log has no new line. Step: it "
                    "has no new step. Unset: Output, the only value for an elastic job.",
                    list(StallSign),
                ),
                "action": an_enum(
                    "Event sets the condition TrainingStalled. Restart also restarts all pods, "
                    "which counts against backoffLimit. Unset: Event.",
                    list(StallAction),
                ),
                "notFinite": an_enum(
                    "If the loss stays nan or inf. Event sets the condition LossNotFinite. Fail "
                    "also ends the job. Unset: Event.",
                    list(NotFiniteAction),
                ),
            },
        ),
        "resume": an_enum(
            f"Paddle: attempts after the first get the variable {RESUME_VARIABLE}, the step of the "
            "last finished checkpoint in the job's log, if there was one. Needs the operator's "
            "flag --progress. Unset: no attempt gets the variable.",
            list(Resume),
        ),
    }


def parse_progress(raw: Raw) -> TrainingProgress:
    """The typed `status.progress`."""
    return parse_fields(
        TrainingProgress,
        raw,
        metrics=tuple(parse_fields(Metric, each) for each in raw.get("metrics") or ()),
        checkpoint=parse_fields(SavedCheckpoint, raw.get("checkpoint") or {}),
        history=tuple(raw["history"]) if isinstance(raw.get("history"), list) else (),
    )


def dump_progress(progress: TrainingProgress) -> Raw:
    """The JSON of `status.progress`, without unknown values."""
    metrics = [dump_fields(each) for each in progress.metrics]
    checkpoint = _known(dump_fields(progress.checkpoint))
    lists = {"metrics": metrics, "history": list(progress.history)}
    return _known(dump_fields(progress) | lists | {"checkpoint": checkpoint})


def _known(raw: Raw) -> Raw:
    """The fields that are not empty; a 0 of steps or percent counts as known."""
    steps = ("step", "totalSteps", "percent")
    return {key: value for key, value in raw.items() if value or key in steps}
