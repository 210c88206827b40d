"""Draws a job's explanation as lines of text, or as values for programs."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from api.catalogue.meaning import WHO, say, say_both
from pdj.judge.story import Finding, Story, first_line
from pdj.text.progress import describe_training
from pdj.text.status import describe_failure
from pdj.text.tables import age
from pdj.text.terminal import BY_PHASE, Paint, plain
from pdj.text.words import LABELS


def draw_story(story: Story, language: str, paint: Paint, now: datetime) -> list[str]:
    """The lines of the story."""
    labels = {name: say(words, language) for name, words in LABELS.items()}
    colon = labels["colon"]
    phase = plain(story.job.status.phase or "New")
    head = plain(f"{story.job.namespace}/{story.job.name}")
    lines = [
        f"{paint(head, 'bold')}  {labels['state']}{colon}{paint(phase, BY_PHASE.get(phase, ''))}"
    ]
    for finding in story.findings:
        lines += ["", *_draw_finding(finding, labels, language, paint, now)]
    sections = {
        labels["training"]: describe_training(story.training, language) if story.training else [],
        labels["failures"]: [
            f"{each.attempt}: {describe_failure(each)}" for each in story.failures
        ],
        **{
            labels[name]: [say(each, language) for each in facts]
            for name, facts in story.evidence.items()
        },
        labels["events"]: [say(each, language) for each in story.warnings],
    }
    sections[labels["history"]] = [
        f"{age(each.since, now)}  {each.reason}{colon}"
        + say_both(each.meaning.cause, each.meaning.next_step, language)
        for each in story.history
    ]
    for title, told in sections.items():
        if told:
            lines += [
                "",
                f"{paint(title, 'bold')}{colon}".rstrip(),
                *(f"  {plain(line)}" for line in told),
            ]
    return lines


def _draw_finding(
    finding: Finding, labels: dict[str, str], language: str, paint: Paint, now: datetime
) -> Iterator[str]:
    colon = labels["colon"]
    since = labels["since"].format(age(finding.since, now)) if finding.since else ""
    name = f"{plain(finding.reason)}{since}{colon}" if finding.reason else ""
    yield f"{paint(labels['why'], 'bold')}{colon}{name}{say(finding.meaning.cause, language)}"
    if finding.message:
        yield f"  {labels['said']}{colon}{plain(first_line(finding.message))}"
    yield f"{paint(labels['next'], 'bold')}{colon}{say(finding.meaning.next_step, language)}"
    yield f"{paint(labels['who'], 'bold')}{colon}{say(WHO[finding.meaning.who], language)}"


def describe_story(story: Story, language: str) -> dict[str, Any]:
    """The story for programs, in a language."""
    return {
        "job": f"{story.job.namespace}/{story.job.name}",
        "phase": story.job.status.phase,
        "findings": [describe_finding(each, language) for each in story.findings],
        "history": [describe_finding(each, language) for each in story.history],
        "warnings": [say(each, language) for each in story.warnings],
    }


def describe_finding(finding: Finding, language: str) -> dict[str, Any]:
    """A finding for programs: `actor` is a word of `Who`, `since` seconds since 1970."""
    who, _, cause, next_step, _ = finding.meaning
    return {
        "reason": finding.reason,
        "cause": say(cause, language),
        "next": say(next_step, language),
        "who": say(WHO[who], language),
        "actor": who,
        "message": finding.message,
        "since": finding.since.timestamp() if finding.since else None,
        "evidence": {
            title: [say(line, language) for line in lines]
            for title, lines in finding.evidence.items()
        },
    }
