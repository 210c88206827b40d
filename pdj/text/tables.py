"""Tables with titles, and ages as kubectl writes them."""

from collections.abc import Callable, Sequence
from datetime import datetime

from pdj.text.terminal import pad, width

GAP = "   "
_UNITS = (("y", 365 * 86400), ("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def table(
    rows: Sequence[Sequence[str]],
    paint: Callable[[int, str], str] = lambda _column, text: text,
) -> list[str]:
    """Lines of aligned columns. `paint` colours a padded cell of the column with this index."""
    if not rows:
        return []
    widths = [max(width(row[at]) for row in rows) for at in range(len(rows[0]))]
    return [
        GAP.join(
            paint(at, pad(cell, widths[at]) if at < len(row) - 1 else cell)
            for at, cell in enumerate(row)
        ).rstrip()
        for row in rows
    ]


def age(moment: datetime | None, now: datetime) -> str:
    """The time since then, such as `5s`, `3m12s`, `4h20m` or `12d`; `-` for None."""
    if moment is None:
        return "-"
    return duration((now - moment).total_seconds())


def duration(seconds: float) -> str:
    """A duration in its largest unit, and in the next smaller one if the number is below 10."""
    left = max(0, int(seconds))
    for at, (unit, size) in enumerate(_UNITS):
        count, rest = divmod(left, size)
        if count:
            smaller, step = _UNITS[at + 1] if at + 1 < len(_UNITS) else ("", 1)
            more = f"{rest // step}{smaller}" if count < 10 and smaller and rest >= step else ""
            return f"{count}{unit}{more}"
    return "0s"


def bar(done: int, total: int, columns: int = 12) -> str:
    """A progress bar for this share."""
    filled = columns if done >= total else columns * done // max(total, 1)
    return "█" * filled + "░" * (columns - filled)
