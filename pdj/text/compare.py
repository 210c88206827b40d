"""Draws two jobs side by side: how far they are, their losses, and what differs in their specs."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Any

from api.catalogue.meaning import say
from api.objects import Raw, name_of, parse_time
from api.training import Point
from pdj.facts.picture import read_job
from pdj.facts.training import Training
from pdj.text.curve import Curve, Node, describe_curve, draw_curves, to_curve
from pdj.text.progress import describe_in_columns
from pdj.text.tables import age, duration, table
from pdj.text.terminal import plain, shorten
from pdj.text.words import COMPARE

ROWS, MAX_DIFFERENCES, MAX_VALUE, KEPT_PREFIX = 10, 50, 40, 15
Row = tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """Two jobs side by side. A row is a title and a cell for each job."""

    names: Row
    rows: tuple[Row, ...]
    differences: tuple[Row, ...]
    by_step: tuple[Curve, ...]
    by_time: tuple[Curve, ...]
    """Seconds since the first point of each."""


def compare(
    jobs: Sequence[Raw], trainings: Sequence[Training | None], now: datetime, language: str = "en"
) -> Comparison:
    """Facts, losses by step and by time, and what differs in the specs."""
    words = {name: say(each, language) for name, each in COMPARE.items()}
    points = [each.points if each else () for each in trainings]
    steps = tuple(map(_by_step, points))
    times = tuple(to_curve(each, by_time=True) for each in points)
    rows = (
        *((words[title], *cells) for title, *cells in _facts(jobs, trainings, now)),
        *_losses(words["lossAt"], steps, lambda step: f"{step:,.0f}"),
        *_losses(words["lossAfter"], times, duration),
    )
    names = tuple(plain(name_of(each)) for each in jobs)
    return Comparison(names, rows, tuple(_differences(jobs, words["more"])), steps, times)


def draw_pictures(compared: Comparison) -> list[Node | None]:
    """The losses of both jobs by step, and by time; None where there are too few."""
    title = " / ".join(compared.names)
    return [
        draw_curves(curves, title, by_time)
        for curves, by_time in ((compared.by_step, False), (compared.by_time, True))
    ]


def draw_comparison(compared: Comparison) -> list[str]:
    """The lines of two tables."""
    rows = table([("", *compared.names), *compared.rows])
    differ = [("differs", *compared.names), *compared.differences]
    return [*rows, "", *table(differ)] if compared.differences else rows


def _facts(
    jobs: Sequence[Raw], trainings: Sequence[Training | None], now: datetime
) -> Iterator[Row]:
    statuses = [read_job(each).status for each in jobs]
    yield "state", *(plain(each.phase or "-") for each in statuses)
    yield "reason", *(plain(each.reason or "-") for each in statuses)
    starts = [parse_time(each.start_time) for each in statuses]
    ends = [parse_time(each.completion_time) or now for each in statuses]
    yield "time", *(age(start, end) for start, end in zip(starts, ends, strict=True))
    yield "step", *(describe_in_columns(each)[0] for each in trainings)
    yield "curve", *(describe_curve(each.points if each else ()) or "-" for each in trainings)


def _by_step(points: Sequence[Point]) -> Curve:
    """The losses by step; of steps that were trained again, only the later ones count."""
    curve: Curve = []
    for point in points:
        while curve and curve[-1][0] >= point.step:
            curve.pop()
        curve.append((point.step, point.loss))
    return curve


def _losses(title: str, curves: Sequence[Curve], show: Any) -> Iterator[Row]:
    """A row for some of the places where a curve has a point."""
    places = sorted({x for curve in curves for x, _ in curve})
    count = min(ROWS, len(places))
    for at in range(count):
        x = places[at * (len(places) - 1) // max(1, count - 1)]
        yield title.format(show(x)), *(_loss_at(curve, x) for curve in curves)


def _loss_at(curve: Curve, x: float) -> str:
    """The loss there, on the line between the two points around it; `-` outside of the curve."""
    at = bisect_left(curve, (x, float("-inf")))
    if at == len(curve) or (at == 0 and curve[0][0] != x):
        return "-"
    (x1, y1), (x0, y0) = curve[at], curve[max(0, at - 1)]
    part = (x - x0) / (x1 - x0) if x1 > x0 else 1.0
    return f"{y0 * (1 - part) + y1 * part:.4g}"


def _differences(jobs: Sequence[Raw], more: str) -> Iterator[Row]:
    """The fields of the specs that differ; in lists, elements with the same name are compared."""
    fields = [dict(_fields("spec", each.get("spec"))) for each in jobs]
    names = [name for name in {**fields[1], **fields[0]} if len({f.get(name) for f in fields}) > 1]
    for name in sorted(names)[:MAX_DIFFERENCES]:
        texts = [plain(f.get(name, "-")) for f in fields]
        # Values that are alike for long, such as two tags of one image, begin where they differ.
        alike = takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False))
        cut = max(0, len([*alike]) - KEPT_PREFIX)
        yield plain(name), *(shorten("…" * (cut > 0) + text[cut:], MAX_VALUE) for text in texts)
    if len(names) > MAX_DIFFERENCES:
        yield more.format(len(names) - MAX_DIFFERENCES), "", ""


def _fields(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Each value in an object that is neither an object nor a list, with its path."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _fields(f"{path}.{key}", each)
    elif isinstance(value, list):
        for at, each in enumerate(value):
            name = each.get("name", at) if isinstance(each, dict) else at
            yield from _fields(f"{path}[{name}]", each)
    else:
        yield path, str(value)
