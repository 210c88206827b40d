"""Draws the rates as bars, in SVG by hand: no library is worth a dozen rectangles."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from benchmarks.series import Series

WIDTH, LABEL, BAR, GAP = 760, 250, 22, 8
FLOOR_COLOUR, COLOURS = "#9aa5b1", ("#2f6fde", "#e07b39", "#3a9d5d", "#8d5bc1")


@dataclass(frozen=True)
class Bar:
    """One bar: a rate in jobs per second."""

    label: str
    rate: float
    colour: str


def draw_chart(series: Sequence[Series]) -> str:
    """Jobs per second to Running for each burst: the floor, then each operator."""
    bars: list[Bar] = []
    for each, colour in zip(series, COLOURS * len(series), strict=False):
        for rated in each.bursts:
            title = f"{rated.jobs} jobs"
            bars.append(Bar(f"floor, {title}", rated.floor_jobs_per_second, FLOOR_COLOUR))
            bars.append(Bar(f"{each.operator}, {title}", rated.jobs_per_second, colour))
    return draw_bars("jobs per second until all run", bars)


def draw_bars(title: str, bars: Sequence[Bar]) -> str:
    """The bars below each other, the longest over the whole width."""
    longest = max((bar.rate for bar in bars), default=1.0) or 1.0
    scale = (WIDTH - LABEL - 70) / longest
    height = 40 + len(bars) * (BAR + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="10" y="20" font-weight="bold">{escape(title)}</text>',
    ]
    for number, bar in enumerate(bars):
        parts += _draw_bar(bar, 34 + number * (BAR + GAP), scale)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _draw_bar(bar: Bar, top: int, scale: float) -> list[str]:
    length, middle = bar.rate * scale, top + BAR - 6
    return [
        f'<text x="{LABEL - 8}" y="{middle}" text-anchor="end">{escape(bar.label)}</text>',
        f'<rect x="{LABEL}" y="{top}" width="{length:.1f}" height="{BAR}" fill="{bar.colour}"/>',
        f'<text x="{LABEL + length + 6:.1f}" y="{middle}">{bar.rate:.1f}</text>',
    ]
