"""Reads the progress of a training from the lines of its log.

A tenant controls the log, so only numbers, short names and one path are taken from it, by
allow-list. A value that no line reports is None. Durations come from the lines' own times, so a
node whose clock is wrong does not change them.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple

from api.training import MAX_PATH
from reconcile.words import step_patterns as tools
from reconcile.words.forms import Form, form_of
from reconcile.words.launcher_log import clean, is_forming
from reconcile.words.losses import LossReader, LossRun, is_odd
from reconcile.words.metrics import last_numbers, shown_metrics, shown_number

MAX_LINES = 40
MAX_LINE_CHARACTERS = 4096
"""A longer line is read at both ends: a progress bar has its last state at the end."""
MAX_CHARACTERS = 8 * MAX_LINE_CHARACTERS
"""Of longer lines together only the last are read."""
FORMINGS = 3
"""A group that forms this often without a step or a checkpoint in between forms again and again."""
MAX_QUIET_SECONDS = 6 * 3600
MAX_REMAINING_SECONDS = 10 * 365 * 86400
"""A longer time to the end is reported as unknown."""
YEARS = range(1970, 2200)
"""Lines of other years are dropped: arithmetic at the ends of the calendar would fail."""
PACE_TIME, PACE_STEPS = timedelta(minutes=5), 10
"""The pace is that of the last one or two windows of at least this time and this many steps."""
SAME_MOMENT = timedelta(seconds=0.2)
"""Lines this close count as simultaneous: PaddlePaddle's launcher copies a log every 2 s."""
_COUNT = re.compile(tools.COUNT, re.ASCII)
_ZEROS = str.maketrans("123456789", "0" * 9)
MAX_INNER = 100
"""This many lines in a row with a smaller total are those of a loop inside the training."""
_UNITS = {"k": 1000, "m": 1_000_000}
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{0,20})?)([smh]?)", re.ASCII)
_UNIT_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
_ETA = re.compile(r"(?:(\d+) days?,? +)?(\d+):(\d+):(\d+)", re.ASCII)
_SPACE = re.compile(r"\s")
_PATH = re.compile(rf"[ -~]{{1,{MAX_PATH}}}")


class Line(NamedTuple):
    """A line of a log, with the time that the kubelet put before it."""

    time: datetime
    text: str


@dataclass(frozen=True)
class Checkpoint:
    """A finished checkpoint. The path is empty if no line has one that can be shown."""

    step: int
    path: str
    time: datetime


class Progress(NamedTuple):
    """The progress that the lines report. None means that no line reports it.

    `metrics` has at most 8 pairs of a name and a number, as text. `last_step_time` is when the step
    last changed. The pace is measured from `first_step`: the first step after steps last went back,
    or a step of some minutes ago. `later_step` is the next `first_step`. `end_time` is the tool's
    own estimate. `forming_since` is when elastic launchers formed their group for the third last
    time, if no step or checkpoint followed. `losses` says whether the last losses are finite.
    """

    step: int | None = None
    total: int | None = None
    epoch: int | None = None
    epochs: int | None = None
    metrics: tuple[tuple[str, str], ...] = ()
    samples_per_second: str | None = None
    checkpoint: Checkpoint | None = None
    quiet_until: datetime | None = None
    last_output_time: datetime | None = None
    last_step_time: datetime | None = None
    first_step: int | None = None
    first_step_time: datetime | None = None
    later_step: int | None = None
    later_step_time: datetime | None = None
    end_time: datetime | None = None
    forming_since: datetime | None = None
    losses: LossRun | None = None

    @property
    def percent(self) -> int | None:
        """How much of the total is done; None if the step or the total is unknown."""
        return None if self.step is None or not self.total else 100 * self.step // self.total

    @property
    def remaining_seconds(self) -> float | None:
        """Seconds from the last step to the end; None if unknown.

        They are those that the tool itself estimates, or else follow from the pace of recent steps.
        """
        if self.end_time and self.last_step_time:
            return max(0.0, (self.end_time - self.last_step_time).total_seconds())
        first, step = self.first_step or 0, self.step or 0
        if not self.total or not self.first_step_time or not self.last_step_time or step <= first:
            return None
        seconds = (self.last_step_time - self.first_step_time).total_seconds()
        remaining = (self.total - step) * seconds / (step - first)
        return remaining if seconds >= 1 and remaining < MAX_REMAINING_SECONDS else None

    def moved(self, shift: timedelta) -> "Progress":
        """The same progress, with all its times moved later by `shift`."""
        times = ((name, at) for name, at in self._asdict().items() if isinstance(at, datetime))
        moved: dict[str, Any] = {name: at + shift for name, at in times}
        if saved := self.checkpoint:
            moved["checkpoint"] = replace(saved, time=saved.time + shift)
        return self._replace(**moved)


def read_lines(log: bytes) -> list[Line]:
    """The lines that begin with a time that has a zone, each cut to at most 4,096 characters.

    Other lines are dropped, and so are lines of a year that is not in YEARS.
    """
    lines = []
    for each in log.split(b"\n"):
        stamp, _, text = each.partition(b" ")
        with suppress(ValueError, OverflowError):
            time = datetime.fromisoformat(stamp.decode())
            if time.tzinfo is not None and time.year in YEARS:
                lines.append(Line(time.astimezone(UTC), _cut(text.decode(errors="replace"))))
    return lines


def _cut(text: str) -> str:
    """The text, or its beginning and its end without the words that are cut in two."""
    if len(text) <= MAX_LINE_CHARACTERS:
        return text
    half = MAX_LINE_CHARACTERS // 2 - 2
    begin, end = text[:half][::-1], text[-half:]
    return f"{_SPACE.split(begin, 1)[-1][::-1]} … {_SPACE.split(end, 1)[-1]}"


def _last(texts: list[tuple[datetime, str]]) -> list[tuple[datetime, str]]:
    """The last 40 of them, as a line can quote many, or fewer if they are too long together."""
    lengths = accumulate(len(text) for _, text in texts[: -MAX_LINES - 1 : -1])
    return texts[len(texts) - sum(length <= MAX_CHARACTERS for length in lengths) :]


class ProgressReader:
    """Reads the lines of a log, oldest first, but only the last 40 lines of each call.

    After a step in the operator's own format, it takes no step of other formats.
    """

    def __init__(self, total: int | None = None) -> None:
        """`total`: the number of steps, if an earlier reader has seen it."""
        self.progress = Progress()
        self.marked_progress: Progress | None = None
        self._saving: Checkpoint | None = None
        self._is_evaluating = False
        self._formed: deque[datetime] = deque(maxlen=FORMINGS)
        self._total = total
        """The total that the head has, for steps without one."""
        self._last: tuple[datetime, str, Mapping[str, slice]] | None = None
        """The last line with a step, and where it has its estimate of the end."""
        self._shown = ""
        """The last line with a loss, where none has a step."""
        self._inner = 0
        self._samples: int | None = None
        self._has_heads = False
        """Epochs have heads, `Epoch 2/5`, or the training: other totals are those of an epoch."""
        self._has_gap = False
        """Lines before the next count were not read."""
        self._counted: tuple[int, int | None] = 0, None
        """The last step and total, as their line has them."""
        self._before_head: tuple[int, int | None] | None = None
        """Those before the head of an epoch, until the next step."""
        self._goes_on = False
        """Steps below the heads of epochs go on from one epoch to the next."""
        self._is_from_zero = False
        """Epochs are counted from 0, so nobody knows whether `3/5` is the third or the fourth."""
        self._losses = LossReader()
        self._texts: list[tuple[str, bool]] = []
        """The lines with a step or a loss among those that are being read, and whether a step."""

    def read(self, lines: Iterable[Line]) -> Progress:
        """The progress after these lines, which must follow those that were read before."""
        last = self.progress.last_output_time
        cached = cache(form_of)  # most lines of a log have one form
        read = list(lines)[-MAX_LINES:]
        texts = [(line.time, text) for line in read for text in clean(line.text)]
        kept = _last(texts)
        is_whole = len(read) < MAX_LINES and len(kept) == len(texts)
        if last and not is_whole:  # perhaps an evaluation ended in between, or an epoch began
            self._is_evaluating, self._has_gap = False, True
        for time, text in kept:
            self._read_text(time, text, cached)
            last = time
        metrics, rate = last_numbers(self._texts)
        self._texts.clear()
        self.progress = _with_known(
            self.progress, last_output_time=last, metrics=metrics, samples_per_second=rate
        )
        mark = self.marked_progress or Progress()
        progress = _with_known(self._with_own(), **mark._asdict()) if mark.step is None else mark
        losses = self._losses.read(progress, is_whole)
        forming = self._forming_since(progress)
        return progress._replace(last_output_time=last, forming_since=forming, losses=losses)

    def _with_own(self) -> Progress:
        """The progress with the estimate of the end that the last line with a step has."""
        if self._last is None:
            return self.progress
        time, line, places = self._last
        eta = _eta(line[places["eta"]]) if "eta" in places else None
        return self.progress if eta is None else self.progress._replace(end_time=time + eta)

    def _forming_since(self, progress: Progress) -> datetime | None:
        if len(self._formed) < FORMINGS:
            return None
        saved, formed = progress.checkpoint, self._formed[0]
        times = (progress.last_step_time, saved.time if saved else None)
        return None if any(time and time > formed for time in times) else formed

    def _read_text(self, time: datetime, text: str, form_of: Callable[[str], Form]) -> None:
        if mark := tools.MARK.search(text):
            values = dict(tools.MARKED_VALUE.findall(text[mark.end() :]))
            self.marked_progress = _after_mark(self.marked_progress or Progress(), time, values)
            self._losses.note(self.marked_progress, text, is_odd(text.lower()), True)
        elif is_forming(text):
            self._formed.append(time)
        elif saving := tools.SAVING.search(text):
            self._saving = Checkpoint(int(saving["step"]), _shown_path(saving["path"]), time)
        else:
            # A word takes more characters in English, and İ in lower case.
            shown = tools.in_english(text.replace("\t", " "))[-MAX_LINE_CHARACTERS:]
            lowered = shown.lower()[: len(shown)]
            form = form_of(lowered.translate(_ZEROS))
            if form.is_evaluating is not None:
                self._is_evaluating = form.is_evaluating
            if not self._is_evaluating:
                counts = {name: _number(lowered[place]) for name, place in form.counts.items()}
                if not self._read_counts(time, counts, form.is_per_epoch, "loss" in lowered):
                    return
                if has_step := "step" in form.counts:
                    self._last = time, lowered, form.own
                if form.has_numbers:
                    if self.progress.step is None and shown != self._shown:  # it trains
                        self.progress = self.progress._replace(last_step_time=time)
                    self._shown = shown
                    self._texts.append((shown, has_step))
                    self._losses.note(self.progress, shown, form.is_odd)

    def _read_counts(
        self, time: datetime, counts: dict[str, Any], is_per_epoch: bool | None, has_loss: bool
    ) -> bool:
        """Take these counts; False if they are those of a loop inside the training, or after it."""
        if counts and self._has_gap:
            self._has_gap, self._counted, self._before_head = False, (0, None), None
            self.progress = self.progress._replace(epoch=None, epochs=None, total=None)
        step, total = counts.pop("step", None), counts.pop("total", None)
        if "samples" in counts and (samples := counts.pop("samples")) != self._samples:
            self._samples, counts["last_step_time"] = samples, time
        before = self.progress = self.progress._replace(**counts)
        self._is_from_zero |= before.epoch == 0
        if step is None:  # the head of the training or of an epoch, or nothing
            self._total = total or self._total
            self._has_heads |= bool(is_per_epoch or total)
            self._before_head = self._counted if is_per_epoch else self._before_head
            return True
        known, of = self._before_head or (step, None)
        if total and total == of and step > known and not self._goes_on:
            self._goes_on, before = True, before._replace(total=None)
        own = step, total
        if is_per_epoch is None:
            other = self._has_heads and total not in (None, self._total)
            is_per_epoch = other and not self._goes_on
        if not is_per_epoch:
            total = total or self._total
        elif total is not None:
            epoch, epochs = before.epoch or 0, before.epochs or 0
            if 0 < epoch <= epochs and not self._is_from_zero:
                step, total = (epoch - 1) * total + step, epochs * total
            else:  # the total of one epoch is not the training's
                total = None
        is_inner = total and total < (before.total or before.step or 0)
        is_inner = is_inner and not (before.percent == 100 and has_loss)  # another training
        if is_inner and "epoch" not in counts and self._inner < MAX_INNER:
            self._inner, self.progress = self._inner + 1, before._replace(last_step_time=time)
            return False
        self._inner, self._counted, self._before_head = 0, own, None
        after = _after_step(before, time, step, total)
        if self._saving and step > self._saving.step:
            after, self._saving = after._replace(checkpoint=self._saving), None
        self.progress = after
        return True


def _with_known(progress: Progress, **values: Any) -> Progress:
    """The progress with these values, without those that are None or empty."""
    known = {name: value for name, value in values.items() if value not in (None, ())}
    return progress._replace(**known)


def _after_step(before: Progress, time: datetime, step: int, total: int | None) -> Progress:
    total = before.total if total is None else total
    changes: dict[str, Any] = {"step": step, "total": total if total and step <= total else None}
    if step != before.step:
        changes["last_step_time"] = time
        began, later = before.first_step_time, before.later_step_time
        here = {"later_step": step, "later_step_time": time}
        if not began or not later or time < began or step < (before.step or 0):
            changes |= here | {"first_step": step, "first_step_time": time}
        elif time - began < SAME_MOMENT:
            changes |= {"first_step": step, "later_step": step}
        elif time - later >= PACE_TIME and step - (before.later_step or 0) >= PACE_STEPS:
            changes |= here | {"first_step": before.later_step, "first_step_time": later}
    return before._replace(**changes)


def _after_mark(before: Progress, time: datetime, values: Mapping[str, str]) -> Progress:
    step, total, saved = (_count(values.get(name)) for name in ("step", "total", "checkpoint"))
    after = before if step is None else _after_step(before, time, step, total)
    if saved is not None and (before.checkpoint is None or saved != before.checkpoint.step):
        path = _shown_path(values.get("path", ""))
        after = after._replace(checkpoint=Checkpoint(saved, path, time))
    epoch, _, epochs = values.get("epoch", "").partition("/")
    quiet = min(_seconds(values.get("quiet", "")), MAX_QUIET_SECONDS)
    quiet_until = time + timedelta(seconds=quiet) if quiet else None
    return _with_known(
        after._replace(quiet_until=quiet_until),
        epoch=_count(epoch),
        epochs=_count(epochs),
        metrics=shown_metrics(sorted(values.items(), key=lambda each: each[0].lower() != "loss")),
        samples_per_second=shown_number(values.get("samples_per_second", "")),
    )


def _count(text: str | None) -> int | None:
    text = re.sub(r"\.0{1,20}$", "", text or "")  # Python prints a float as 10.0
    return _number(text) if _COUNT.fullmatch(text) else None


def _seconds(duration: str) -> float:
    """600, 600.0, 600s, 10m and 1.5h in seconds; 0 if it is no duration."""
    match = _DURATION.fullmatch(duration.replace(",", ""))
    return float(match[1]) * _UNIT_SECONDS[match[2]] if match else 0


def _number(count: str) -> int:
    unit, digits = _UNITS.get(count[-1]), count.replace(",", "")
    return int(digits) if unit is None else int(Decimal(digits[:-1]) * unit)


def _eta(text: str) -> timedelta | None:
    """The duration; None if it is too long."""
    match = _ETA.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(each or 0) for each in match.groups())
    eta = timedelta(days, hours=hours, minutes=minutes, seconds=seconds)
    return eta if eta.total_seconds() < MAX_REMAINING_SECONDS else None


def _shown_path(path: str) -> str:
    return path if _PATH.fullmatch(path) else ""
