"""Draws the rates as bars, in SVG, without a library."""

from collections.abc import Sequence
from html import escape

from benchmarks.series import Series

WIDTH, LABEL, BAR, GAP = 760, 250, 22, 8
FLOOR_COLOUR, COLOURS = "#9aa5b1", ("#2f6fde", "#e07b39", "#3a9d5d", "#8d5bc1")
Bar = tuple[str, float, str]
"""A label, a rate in jobs per second, a colour."""


def draw_chart(series: Sequence[Series]) -> str:
    """Jobs per second to Running for each burst: the floor, then each operator."""
    bars: list[Bar] = []
    for each, colour in zip(series, COLOURS * len(series), strict=False):
        for rated in each.bursts:
            title = f"{rated.jobs} jobs"
            bars.append((f"floor, {title}", rated.floor_jobs_per_second, FLOOR_COLOUR))
            bars.append((f"{each.operator}, {title}", rated.jobs_per_second, colour))
    return draw_bars("jobs per second until all run", bars)


def draw_bars(title: str, bars: Sequence[Bar]) -> str:
    """The bars, one below the other; the longest has the whole width."""
    scale = (WIDTH - LABEL - 70) / max((rate for _, rate, _ in bars), default=1.0)
    height = 40 + len(bars) * (BAR + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="10" y="20" font-weight="bold">{escape(title)}</text>',
    ]
    for number, (label, rate, colour) in enumerate(bars):
        top, length = 34 + number * (BAR + GAP), rate * scale
        middle = top + BAR - 6
        parts += [
            f'<text x="{LABEL - 8}" y="{middle}" text-anchor="end">{escape(label)}</text>',
            f'<rect x="{LABEL}" y="{top}" width="{length:.1f}" height="{BAR}" fill="{colour}"/>',
            f'<text x="{LABEL + length + 6:.1f}" y="{middle}">{rate:.1f}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"
