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
BLOCKS = "▁▂▃▄▅▆▇█"
COLUMNS = 30
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 360, 150, 56, 10, 20
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


def draw_curve(points: Sequence[Point], checkpoint: int | None = None) -> Node | None:
    """The picture; None for fewer than two points. It goes by step, or by time if steps went back.

    Lines from top to bottom mark the checkpoint, and where steps went back: there it began again.
    """
    if len(points) < 2:
        return None
    start, losses = points[0].time, [each.loss for each in points]
    went_back = any(b.step < a.step for a, b in pairwise(points))
    by = [(p.time - start).total_seconds() if went_back else p.step for p in points]
    xs = [LEFT + _share(each, by) * (WIDTH - LEFT - 10) for each in by]
    ys = [HEIGHT - BOTTOM - _share(each, losses) * (HEIGHT - BOTTOM - TOP) for each in losses]
    marks = [
        (x, "steps begin again")
        for x, (a, b) in zip(xs[1:], pairwise(points), strict=True)
        if b.step < a.step
    ]
    if checkpoint is not None and not went_back and by[0] <= checkpoint <= by[-1]:
        x = LEFT + _share(checkpoint, by) * (WIDTH - LEFT - 10)
        marks.append((x, f"checkpoint {checkpoint:,}"))
    return [
        "svg",
        {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img", "font-size": "10", "fill": "none"},
        ["title", {}, describe_curve(points)],
        *_axes(losses, [duration(each) if went_back else f"{each:,}" for each in (by[0], by[-1])]),
        *(_mark(round(x), text) for x, text in marks),
        [
            "polyline",
            {
                "points": " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True)),
                "stroke": "#3b82f6",
                "stroke-width": "1.5",
            },
        ],
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
