"""Draws the curve of a loss: in block characters, or as a picture with axes and numbers.

A picture is a tree of SVG elements, each `[name, attributes, *children]`, for the page and for
notebooks. All text in it is ours.
"""

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Any

from api.training import Point
from pdj.text.tables import duration

Node = list[Any]
Curve = list[tuple[float, float]]
"""Losses by step or by seconds, which both rise."""
BLOCKS = "▁▂▃▄▅▆▇█"
COLUMNS = 30
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 360, 150, 56, 10, 20
STROKES = ({"stroke": "#3b82f6"}, {"stroke": "#d97706", "stroke-dasharray": "5 3"})
"""Of the first and the second curve of a picture."""
_GREY = {"stroke": "currentColor", "stroke-opacity": "0.35"}


def describe_curve(points: Sequence[Point]) -> str:
    """The curve in a line, such as `loss 2.31 █▅▃▂▁▁ 0.25`; empty for fewer than two points."""
    if len(points) < 2:
        return ""
    losses = [each.loss for each in points]
    count = min(COLUMNS, len(losses))
    shown = [losses[at * (len(losses) - 1) // (count - 1)] for at in range(count)]
    blocks = (BLOCKS[int(7.99 * _share(each, losses))] for each in shown)
    return f"loss {losses[0]:g} {''.join(blocks)} {losses[-1]:g}"


def to_curve(points: Sequence[Point], by_time: bool) -> Curve:
    """The losses by step, or by seconds since the first."""
    if by_time:
        return [((p.time - points[0].time).total_seconds(), p.loss) for p in points]
    return [(p.step, p.loss) for p in points]


def draw_curve(points: Sequence[Point], checkpoint: int | None = None) -> Node | None:
    """The picture; None for fewer than two points. It goes by step, or by time if steps went back.

    Lines from top to bottom mark the checkpoint, and where steps went back: there it began again.
    """
    by_time = any(b.step < a.step for a, b in pairwise(points))
    curve = to_curve(points, by_time)
    marks = [
        (x, "steps begin again")
        for (x, _), (a, b) in zip(curve[1:], pairwise(points), strict=True)
        if b.step < a.step
    ]
    saved = [] if checkpoint is None or by_time else [checkpoint]
    marks += [(x, f"checkpoint {x:,}") for x in saved if curve and curve[0][0] <= x <= curve[-1][0]]
    return draw_curves([curve], describe_curve(points), by_time, marks)


def draw_curves(
    curves: Sequence[Curve], title: str, by_time: bool, marks: Sequence[tuple[float, str]] = ()
) -> Node | None:
    """One picture of several curves, by seconds or by step; None if none has two points."""
    if all(len(each) < 2 for each in curves):
        return None
    xs, losses = ([point[at] for each in curves for point in each] for at in (0, 1))

    def place(x: float, loss: float) -> tuple[float, float]:
        height = HEIGHT - BOTTOM - TOP
        return LEFT + _share(x, xs) * (WIDTH - LEFT - 10), TOP + (1 - _share(loss, losses)) * height

    lines = (" ".join("{:.1f},{:.1f}".format(*place(*at)) for at in each) for each in curves)
    return [
        "svg",
        {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img", "font-size": "10", "fill": "none"},
        ["title", {}, title],
        *_axes(losses, [duration(x) if by_time else f"{x:,.0f}" for x in (min(xs), max(xs))]),
        *(_mark(round(place(x, losses[0])[0]), text) for x, text in marks),
        *(
            ["polyline", {"points": line, "stroke-width": "1.5", **stroke}]
            for line, stroke in zip(lines, STROKES, strict=False)
        ),
    ]


def to_svg(node: Node | str) -> str:
    """The picture as text."""
    if isinstance(node, str):
        return escape(node)
    name, attributes, *children = node
    given = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    return f"<{name}{given}>{''.join(map(to_svg, children))}</{name}>"


def _axes(losses: Sequence[float], ends: Sequence[str]) -> list[Node]:
    """Three lines with the losses, and the first and the last step or time."""
    low, high, bottom = min(losses), max(losses), HEIGHT - BOTTOM
    lines: list[Node] = []
    for part in (0.0, 0.5, 1.0):
        y, value = f"{bottom - part * (bottom - TOP):g}", low * (1 - part) + high * part
        lines.append(["line", {"x1": str(LEFT), "x2": str(WIDTH - 10), "y1": y, "y2": y, **_GREY}])
        lines.append(_text(LEFT - 4, float(y) + 3, "end", f"{value:.3g}"))
    first, last = ends
    return [
        *lines,
        _text(LEFT, HEIGHT - 6, "start", first),
        _text(WIDTH - 10, HEIGHT - 6, "end", last),
    ]


def _mark(x: int, text: str) -> Node:
    place = {"x1": str(x), "x2": str(x), "y1": str(TOP), "y2": str(HEIGHT - BOTTOM)}
    return ["line", {**place, **_GREY, "stroke-dasharray": "3"}, ["title", {}, text]]


def _text(x: float, y: float, anchor: str, text: str) -> Node:
    return [
        "text",
        {"x": f"{x:g}", "y": f"{y:g}", "text-anchor": anchor, "fill": "currentColor"},
        text,
    ]


def _share(value: float, values: Sequence[float]) -> float:
    """Where a value lies between the least and the largest, from 0 to 1.

    Halves are compared, because the difference of two huge numbers can be infinite.
    """
    low, span = min(values) / 2, max(values) / 2 - min(values) / 2
    return (value / 2 - low) / span if span else 0.5
