"""Draws a job as HTML for a notebook: static, with all text escaped."""

from html import escape

from api.objects import Raw
from api.training import Point
from pdj.facts.picture import JobPicture, headline_of
from pdj.facts.training import Training
from pdj.gather.pods import read_pod
from pdj.text.curve import draw_curve, to_svg
from pdj.text.progress import describe_training

COLUMNS = ("pod", "state", "node", "attempt", "restarts")
COLOURS = {"Completed": "#1a7f37", "Running": "#1a7f37", "Failed": "#cf222e"}
MAX_PODS = 100


class History(list[Point]):
    """The points of a curve."""

    def _repr_html_(self) -> str | None:
        curve = draw_curve(self)
        return f'<div style="max-width:480px">{to_svg(curve)}</div>' if curve else None


def draw(picture: JobPicture, training: Training | None) -> str:
    """The HTML with phase, reason and progress, and a table of at most MAX_PODS pods."""
    job = picture.job
    phase = job.status.phase or "New"
    colour = COLOURS.get(phase, "#9a6700")
    head = f"<b>{_text(job.namespace)}/{_text(job.name)}</b>"
    parts = [f'{head} <b style="color:{colour}">{_text(phase)}</b>']
    if told := headline(picture.raw):
        parts.append(_text(told))
    if training:
        parts += map(_text, describe_training(training))
    if picture.pods_problem:
        parts.append(_text(f"pods cannot be read: {picture.pods_problem}"))
    return "<div>" + "<br>".join(parts) + _table(picture) + "</div>"


def headline(raw: Raw) -> str:
    """The job's reason and message; empty if there is none."""
    reason, message = headline_of(raw.get("status") or {})
    return f"{reason}: {message}" if message else reason


def _table(picture: JobPicture) -> str:
    pods = picture.pods
    if not pods:
        return ""
    shown = map(read_pod, pods[:MAX_PODS])
    rows = [(p.name, p.state, p.node, p.attempt, p.restarts) for p in shown]
    lines = [_row("th", COLUMNS), *(_row("td", row) for row in rows)]
    more = f"<div>and {len(pods) - MAX_PODS} more</div>" if len(pods) > MAX_PODS else ""
    return f"<table>{''.join(lines)}</table>{more}"


def _row(kind: str, values: tuple[object, ...]) -> str:
    return f"<tr>{''.join(f'<{kind}>{_text(each)}</{kind}>' for each in values)}</tr>"


def _text(value: object) -> str:
    return escape(str(value))
