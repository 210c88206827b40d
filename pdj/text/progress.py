"""Describes a training's progress: what its log says, and how old the last line is."""

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from api.catalogue.meaning import say
from pdj.text.tables import duration
from pdj.text.terminal import plain, width
from pdj.text.words import PROGRESS

if TYPE_CHECKING:
    from pdj.facts.training import Training

GAP = "  "
COLUMNS = ("STEP", "LAST OUTPUT")
SHOWN_METRICS = ("loss", "acc", "accuracy")
MAX_SKEW_SECONDS = 5.0
"""Clocks that differ by no more than this are taken as equal."""
SAME_STEP_SECONDS = 60.0


def describe_training(training: "Training", language: str = "en") -> list[str]:
    """A few words for each known value."""
    words = {name: say(each, language) for name, each in PROGRESS.items()}
    if training.problem:
        return [words["problem"].format(plain(training.problem))]
    return [*_describe(training, words)]


def _describe(training: "Training", words: dict[str, str]) -> Iterator[str]:
    progress = training.progress
    if progress.last_output_time is None:
        yield words["empty"]
        return
    if progress.epoch is not None:
        yield words["epoch"].format(_of(progress.epoch, progress.epochs))
    if progress.step is not None:
        yield words["step"].format(_of(progress.step, progress.total)) + _percent(training)
    elif progress.epoch is None:
        yield words["none"]
    for name, number in progress.metrics:
        if name.lower() in SHOWN_METRICS:
            yield f"{name.lower()} {number}"
    run = progress.losses
    if run and run.since is not None and run.is_lasting:
        yield words["notFinite"].format(f"{run.since:,}")
    if progress.samples_per_second is not None:
        yield words["rate"].format(progress.samples_per_second)
    if progress.remaining_seconds is not None and not training.is_suspicious:
        yield words["end"].format(duration(progress.remaining_seconds))
    if progress.checkpoint:
        age = _age(progress.checkpoint.time, training.read_at, words["ago"])
        yield words["checkpoint"].format(f"{progress.checkpoint.step:,}") + age
    if training.has_ended:
        yield words["last"].format(f"{progress.last_output_time:%Y-%m-%d %H:%M:%S}Z")
    else:
        yield from _describe_silence(training, words)


def _describe_silence(training: "Training", words: dict[str, str]) -> Iterator[str]:
    progress, silent = training.progress, training.silent_seconds
    if progress.last_step_time is not None:
        same = (training.read_at - progress.last_step_time).total_seconds()
        if same > SAME_STEP_SECONDS:
            yield words["same"].format(duration(same))
    if progress.quiet_until:
        yield words["quiet"].format(f"{progress.quiet_until:%H:%M:%S}Z")
    if silent < -MAX_SKEW_SECONDS:
        yield words["ahead"].format(duration(-silent))
    else:
        yield words["output"].format(duration(silent))
    if progress.forming_since:
        yield words["forming"]
    if training.first_silent:
        worker, its_last, last = training.first_silent
        yield words["first"].format(worker, f"{its_last:%H:%M:%S}Z", f"{last:%H:%M:%S}Z")


def describe_in_columns(training: "Training | None") -> tuple[str, str]:
    """The cells of COLUMNS: `-` for no value, `<unknown>` if the log could not be read."""
    if training is None or training.problem:
        return ("<unknown>" if training else "-", "-")
    step, last = training.progress.step, training.progress.last_output_time
    done = "-" if step is None else _of(step, training.progress.total) + _percent(training)
    return done, _age(last, training.read_at, "{} ago") or "-" if last else "-"


def wrap(parts: list[str], columns: int) -> list[str]:
    """Join the parts into lines of limited width, without breaking a part."""
    lines = parts[:1]
    for part in parts[1:]:
        if width(lines[-1]) + len(GAP) + width(part) <= columns:
            lines[-1] += GAP + part
        else:
            lines.append(part)
    return lines


def _of(count: int, total: int | None) -> str:
    return f"{count:,}" if total is None else f"{count:,}/{total:,}"


def _percent(training: "Training") -> str:
    return "" if training.progress.percent is None else f" ({training.progress.percent} %)"


def _age(moment: datetime, now: datetime, words: str) -> str:
    seconds = (now - moment).total_seconds()
    return words.format(duration(seconds)) if seconds >= -MAX_SKEW_SECONDS else ""
