"""Finds the form of a line of a training's log: where its counts are, and what they count."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from reconcile.words import step_patterns as tools
from reconcile.words.losses import is_odd


@dataclass(frozen=True)
class Form:
    """What a tool's line says, and where. Lines that differ only in digits have the same form.

    `counts`: the place of each count in the line. `is_per_epoch`: whether steps start again in each
    epoch; None if nobody knows. `own`: the place of the line's estimate of the end. `has_numbers`:
    the line is searched for metrics. `is_odd`: one is perhaps not finite.
    """

    is_evaluating: bool | None
    counts: Mapping[str, slice]
    is_per_epoch: bool | None = None
    own: Mapping[str, slice] = field(default_factory=dict)
    has_numbers: bool = True
    is_odd: bool = False


def form_of(line: str) -> Form:
    """The form of this line, which must be in lower case."""
    head = tools.EPOCH.search(line)
    is_outside = head or tools.EVALUATION_ENDS.search(line)
    is_evaluating = bool(tools.EVALUATION_BEGINS.search(line)) or (False if is_outside else None)
    asides = [match.start() for each in tools.ASIDE if (match := each.search(line))]
    saved = tools.SAVED.search(line)
    first = min([*asides, saved.start() if saved else len(line)])
    is_aside = bool(asides) and not tools.TRAIN_LOSS.search(line)
    for pattern in tools.STEP_PATTERNS.values():
        if match := pattern.search(line):
            if is_aside or first < match.start("step"):
                return Form(is_evaluating, {}, has_numbers=False)
            counts = _places(match)
            is_per_epoch: bool | None = pattern.is_per_epoch or (
                False if "global" in match[0] else None
            )
            elsewhere = tools.SOME_EPOCH.search(line)
            if "epoch" not in counts and elsewhere and elsewhere.start() < first:
                counts |= _places(elsewhere)
                if "epochs" in counts and is_per_epoch is None:
                    is_per_epoch = True
                if elsewhere.start() > match.start() and is_per_epoch:
                    counts.pop("total", None)  # perhaps the total of all epochs, perhaps of one
            if "total" not in counts and (of_all := tools.TOTAL.search(line)):
                counts, is_per_epoch = counts | _places(of_all), False
            eta = tools.ETA.search(line)
            own = _places(None if is_per_epoch and eta and _is_near(match, eta) else eta)
            return Form(is_evaluating, counts, is_per_epoch, own, is_odd=is_odd(line))
    has_loss = tools.LOSS.search(line) is not None and not is_aside and not saved
    some = tools.SOME_EPOCH.search(line) if has_loss else tools.HEAD.search(line)
    counts = _places(head or tools.SAMPLES.search(line) or some)
    is_head = "epochs" in counts and not has_loss
    return Form(is_evaluating, counts, is_head, has_numbers=has_loss, is_odd=is_odd(line))


def _is_near(step: re.Match[str], eta: re.Match[str]) -> bool:
    """Whether the time to the end follows a bar, or at once a fraction: then it is that one's."""
    between = step.string[step.end() : eta.start()]
    return step[0].endswith(("]", "━", " ")) or not between.strip("]) ,:|-")


def _places(match: re.Match[str] | None) -> dict[str, slice]:
    groups = match.groupdict().items() if match else ()
    return {name: slice(*match.span(name)) for name, value in groups if match and value}
