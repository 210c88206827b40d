"""Formats a job's explanation as lines of text."""

from collections.abc import Callable, Iterator
from datetime import datetime

from pdj.explain.story import Story, Why, first_line, language_module
from pdj.text.progress import describe_training
from pdj.text.status import describe_failure
from pdj.text.tables import age
from pdj.text.terminal import BY_PHASE, plain

Paint = Callable[..., str]


def draw_story(story: Story, language: str, paint: Paint, now: datetime) -> list[str]:
    """The lines of the story."""
    texts = language_module(language)
    labels: dict[str, str] = texts.LABELS
    phase = plain(story.job.status.phase or "New")
    head = plain(f"{story.job.namespace}/{story.job.name}")
    lines = [f"{paint(head, 'bold')}  {labels['state']}: {paint(phase, BY_PHASE.get(phase, ''))}"]
    for why in story.whys:
        lines += ["", *_draw_why(why, labels, texts.WHO, paint, now)]
    sections = {
        labels["training"]: describe_training(story.training, texts.PROGRESS)
        if story.training
        else [],
        labels["failures"]: [
            f"{each.attempt}: {describe_failure(each)}" for each in story.failures
        ],
        **{labels[name]: facts for name, facts in story.facts.items()},
        labels["events"]: list(story.warnings),
    }
    sections[labels["history"]] = [
        f"{age(each.since, now)}  {each.reason}: {each.text.cause} {each.text.next_step}"
        for each in story.history
    ]
    for title, told in sections.items():
        if told:
            lines += ["", f"{paint(title, 'bold')}:", *(f"  {plain(line)}" for line in told)]
    return lines


def _draw_why(
    why: Why, labels: dict[str, str], who: dict[str, str], paint: Paint, now: datetime
) -> Iterator[str]:
    since = f" ({labels['since']} {age(why.since, now)})" if why.since else ""
    name = f"{plain(why.reason)}{since}: " if why.reason else ""
    yield f"{paint(labels['why'], 'bold')}: {name}{why.text.cause}"
    if why.message:
        yield f"  {labels['said']}: {plain(first_line(why.message))}"
    yield f"{paint(labels['next'], 'bold')}: {why.text.next_step}"
    yield f"{paint(labels['who'], 'bold')}: {who[why.text.who]}"
