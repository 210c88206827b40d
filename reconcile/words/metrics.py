"""Reads the numbers that a line of a training's log shows: its loss, other metrics and its rate."""

import math
import re
from collections.abc import Iterable

from api.training import MAX_METRICS
from reconcile.words import step_patterns as tools

NUMBER_LINES = 5
"""How many of the last lines with a step or a loss are searched for metrics: it takes long."""
Metrics = tuple[tuple[str, str], ...]
_COUNTS = re.compile(
    r"(?:\w{1,40}_)?(?:steps?|iters?|iterations?|batch|epochs?|total|(?:batch|epoch)_id)"
    r"|eta|it|progress|quiet|rank|checkpoint|samples_per_second",
    re.IGNORECASE,
)
"""Names that are no metrics: names of counts, and names with a meaning of their own."""
_LOSS, _MEAN_LOSS, _COST, _SOME_LOSS = range(4)
"""What can be the training's loss, the surest first. If only parts of a loss are there, none is."""
_NOT_LOSS = re.compile(
    r"val|valid|validation|eval|evaluation|test|dev|cv|scale|scaling|scaler|weight|ratio|norm|lr"
)
_WHOLE = re.compile(
    r"(?:pre)?train(?:ing|er)?|avg|average|mean|total|cur|current|running|final|batch|step|iter|epoch|info|sec"
)
"""Words beside `loss` that do not make it a part: `train_loss`, `avg loss`, `INFO loss`."""
_WORD_BEFORE = re.compile(r"(?<![a-z\d])([a-z]+) {1,3}$")
_UNIT = re.compile(tools.UNIT)
_UNIT_OF_COST = re.compile(r" ?(?:%|(?:[mu]?s|secs?|seconds?|min)\b)")


def read_metrics(text: str, has_step: bool) -> tuple[Metrics, bool]:
    """The numbers of a line, the loss first and called so, whatever the tool calls it.

    And whether that is perhaps only a part of it, or another's. A line without a step that has no
    loss of the training has no numbers.
    """
    pairs, losses = _read_pairs(text)
    rank, loss = min(losses, key=lambda each: each[0], default=(_SOME_LOSS, ""))
    if loss and (rank < _SOME_LOSS or len(losses) == 1):
        return shown_metrics([("loss", loss), *pairs]), rank == _SOME_LOSS
    return shown_metrics(pairs) if has_step else (), False


def _read_pairs(text: str) -> tuple[list[tuple[str, str]], list[tuple[int, str]]]:
    """The names and numbers of a line but `loss`, and what can be a loss, each with its rank."""
    pairs: list[tuple[str, str]] = []
    losses: list[tuple[int, str]] = []
    for match in tools.METRIC.finditer(text):
        name, value = match[1] or match[2], match[3]
        lowered = name.lower()
        if lowered != "loss":
            pairs.append((name, value))
        if "loss" in lowered or "cost" in lowered:
            rank = _loss_rank(lowered, text[max(0, match.start() - 24) : match.start()].lower())
            unit = _UNIT_OF_COST if rank == _COST else _UNIT
            if rank is not None and not unit.match(text, match.end()):
                losses.append((rank, value))
    return pairs, losses


def last_numbers(texts: list[tuple[str, bool]]) -> tuple[Metrics | None, str | None]:
    """The metrics and the rate of the last of these lines that has them; each with `has_step`."""
    shown = texts[: -NUMBER_LINES - 1 : -1]
    read = (each for each in (read_metrics(*each) for each in shown) if each[0])
    metrics, is_part = next(read, (None, False))
    if is_part:  # not the training's loss, if another line has a whole one
        whole = (each for each, is_one in read if each[0][0] == "loss" and not is_one)
        metrics = next(whole, metrics)
    of_training = (each[0] for each in shown if each[1] or read_metrics(*each)[0])
    return metrics, next(filter(None, map(read_rate, of_training)), None)


def read_loss(text: str) -> str | None:
    """The whole loss of the training that a line shows, if it does: no part of one, no best one."""
    losses = (each for each in _read_pairs(text)[1] if each[0] < _SOME_LOSS)
    _, loss = min(losses, key=lambda each: each[0], default=(0, ""))
    return shown_number(loss)


def shown_metrics(pairs: Iterable[tuple[str, str]]) -> Metrics:
    """The first eight of these names and values that can be shown."""
    shown: dict[str, str] = {}
    for name, value in pairs:
        if not _COUNTS.fullmatch(name) and (number := shown_number(value)):
            shown.setdefault(name, number)
            if len(shown) == MAX_METRICS:
                break
    return tuple(shown.items())


def read_rate(text: str) -> str | None:
    """The samples per second that a line reports, if it does."""
    lowered = text.lower()
    if not any(word in lowered for word in tools.RATE_WORDS):
        return None
    match = tools.RATE.search(lowered)
    return shown_number(match[match.lastgroup or 0]) if match else None


def shown_number(text: str) -> str | None:
    """The number in six digits. NaN is kept, because users want to see it; 1e400 is unknown."""
    if not re.fullmatch(tools.NUMBER, text, re.IGNORECASE | re.ASCII):  # else ınf is a number
        return None
    number = float(text.replace(",", ""))
    return None if math.isinf(number) and "inf" not in text.lower() else f"{number:.6g}"


def _loss_rank(name: str, before: str) -> int | None:
    """How sure it is that this number is the training's loss; None if it is not."""
    words = {*re.split(r"[_/-]", name), *_WORD_BEFORE.findall(before)}
    if any(map(_NOT_LOSS.fullmatch, words)):
        return None
    if "loss" not in words:
        return _COST if "cost" in words and words <= {"cost", "train", "avg", "average"} else None
    others = words - {"loss"}
    return (_MEAN_LOSS if all(map(_WHOLE.fullmatch, others)) else _SOME_LOSS) if others else _LOSS
