"""What `job.explain()` says next is Python, in both languages, from the catalogue of the tools."""

import ast
import re

import pytest

from api.catalogue import causes
from api.catalogue.meaning import Meaning
from api.catalogue.reasons import REASONS
from paddlejob.advice import in_python
from paddlejob.job import Job
from pdj.facts.picture import read_job
from pdj.judge.story import Evidence, Finding, Story
from pdj.text.explain import draw_story
from pdj.text.terminal import unpainted
from tests.memory.builders import NOW, a_job

MEANINGS = {
    **REASONS,
    **{name: each for name, each in vars(causes).items() if isinstance(each, Meaning)},
    **{f"fault {each}": meaning for each, meaning in causes.FAULTS.items()},
}
ELSEWHERE = ("lint", "debug")
"""Commands of which Python has none."""


def told(finding: Finding, language: str = "en") -> str:
    story = Story(read_job(a_job("train").build()), (finding,), (finding,), (), (), None)
    return "\n".join(draw_story(in_python(story, Job), language, unpainted, NOW))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("reason", MEANINGS)
def test_no_finding_of_the_client_names_a_command_that_a_job_has(reason, language):
    text = told(Finding(str(reason), MEANINGS[reason], "", None), language)
    assert set(re.findall(r"kubectl pdj (\w+)", text)) <= {*ELSEWHERE}
    for call in re.findall(r"`(job\.[^`]*)`", text):
        ast.parse(call)


@pytest.mark.parametrize(
    ("command", "call"),
    [
        ("restart", "job.restart()"),
        ("restart JOB", "job.restart()"),
        ("-n team logs --follow", "job.logs(follow=True)"),
        ("logs JOB --tail 1 --timestamps", "job.logs(tail=1, timestamps=True)"),
        ("logs a --role worker --no-prefix", "job.logs(role='worker', no_prefix=True)"),
        ("scale JOB --workers 4", "job.scale(workers=4)"),
        ("status", "job.watch()"),
        ("delete JOB", "job.delete()"),
        ("lint", "kubectl pdj lint"),
        ("restart JOB --submit-again", "kubectl pdj restart JOB --submit-again"),
    ],
)
def test_a_command_is_the_call_that_does_the_same(command, call):
    line = f"do `kubectl pdj {command}`, then wait"
    meaning = REASONS["PodFailed"]._replace(next_step=(line, line))
    text = told(Finding("PodFailed", meaning, "", None))
    assert f"do `{call}`, then wait" in text


def test_a_line_of_a_log_stays_as_it_was_written():
    own = ("more: kubectl pdj -n team logs train --index 1", "")
    evidence: Evidence = {"lastLines": ["I run `kubectl pdj restart` now", own]}
    text = told(Finding("PodFailed", REASONS["PodFailed"], "kubectl pdj restart", None, evidence))
    assert "I run `kubectl pdj restart` now" in text
    assert "more: job.logs(index=1)" in text
    assert "kubectl pdj restart" in text.splitlines()[3]
