"""Writes the commands in our words about a job as the calls of a client that do the same."""

import inspect
import re
from collections.abc import Iterable
from dataclasses import replace

from api.catalogue.meaning import Words
from pdj.facts.facts import Remark
from pdj.judge.story import Finding, Story

_COMMAND = re.compile(r"(?<=`)kubectl pdj ([^`]+)(?=`)|(?<!`)kubectl pdj (\S.*)$")
"""A command between backquotes, or at the end of a line."""
_DRAWS = {"status": "watch"}
"""Commands that have another name here."""


def in_python(story: Story, kind: type) -> Story:
    """The story with calls of `kind`, a class with a method for a command; lines that were found,
    such as those of a log, stay as they are.
    """
    findings = tuple(_finding(each, kind) for each in story.findings)
    history = tuple(_finding(each, kind) for each in story.history)
    return replace(story, findings=findings, history=history)


def _finding(finding: Finding, kind: type) -> Finding:
    old = finding.meaning
    cause, next_step = (_words(each, kind) for each in (old.cause, old.next_step))
    evidence = {title: _lines(lines, kind) for title, lines in finding.evidence.items()}
    meaning = old._replace(cause=cause, next_step=next_step)
    return finding._replace(meaning=meaning, evidence=evidence)


def _lines(lines: Iterable[Remark], kind: type) -> list[Remark]:
    return [line if isinstance(line, str) else _words(line, kind) for line in lines]


def _words(words: Words, kind: type) -> Words:
    english, chinese = (_COMMAND.sub(lambda found: _call(found, kind), each) for each in words)
    return english, chinese


def _call(found: re.Match[str], kind: type) -> str:
    """The call; the command itself if there is no such method, or none with these arguments."""
    names = re.sub(r"^-n \S+ ", "", found[1] or found[2]).split()
    method = getattr(kind, _DRAWS.get(names[0], names[0]), None)
    options = re.findall(r"--([a-z-]+)(?: (?!-)(\S+))?", " ".join(names))
    given = {name.replace("-", "_"): value for name, value in options}
    if method is None or given.keys() - inspect.signature(method).parameters:
        return found[0]
    arguments = (f"{name}={_value(value)}" for name, value in given.items())
    return f"job.{method.__name__}({', '.join(arguments)})"


def _value(text: str) -> str:
    return (text if text.isdecimal() else repr(text)) if text else "True"
