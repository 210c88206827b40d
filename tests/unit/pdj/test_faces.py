"""`list`, `status`, `explain`, the page and Python say one reason: the headline condition's."""

import argparse
import json
from pathlib import Path

import pytest

from api.objects import Raw
from api.status import headline_condition
from paddlejob import picture as notebook
from pdj.commands.list import _row
from pdj.facts.facts import Facts
from pdj.facts.picture import JobPicture
from pdj.judge.judge import judge
from pdj.session import Screen, Session
from pdj.text.explain import describe_story, draw_story
from pdj.text.status import draw_job
from pdj.ui.detail import describe_job
from tests.faults.explore import Life
from tests.faults.stories import STORIES
from tests.memory import recorded
from tests.memory.builders import NOW, a_job
from tests.memory.world import World

RECORDED = json.loads((Path(recorded.__file__).parent / "recorded.json").read_text())
PAINT = Screen(has_colour=False).paint


def assert_one_reason(job: Raw) -> None:
    """Of whatever the job's status is, all faces say the headline's reason."""
    picture = JobPicture(job)
    headline = headline_condition(picture.job.status)
    reason = headline.reason if headline else ""
    story, page = judge(Facts(picture)), describe_job(Facts(picture), "zh")
    found = describe_story(story, "zh")["findings"]
    explained = draw_story(story, "en", PAINT, NOW)
    drawn = draw_job(Facts(picture), PAINT, NOW, 500)
    said = {
        "list": _row(Session(argparse.Namespace()), job)[-1].removesuffix("-"),
        "status": drawn[1].removeprefix("│  ").partition(" for ")[0] if reason else "",
        "explain": story.findings[0].reason if story.findings else "",
        "its words": explained[2].removeprefix("Why: ").partition(" (")[0] if reason else "",
        "JSON": found[0]["reason"] if found else "",
        "the page": page["whys"][0]["reason"] if page["whys"] else "",
        "its list": page["row"]["reason"],
        "Python": notebook.headline(job).partition(": ")[0],
    }
    assert said == dict.fromkeys(said, reason)


class Shown(Life):
    """A life whose job is shown whenever its status has changed."""

    shown: Raw | None = None

    def _tick(self, seconds: int = 1) -> None:
        super()._tick(seconds)
        job = self.world.objects.get(("PaddleJob", "train"))
        if job is not None and job.get("status") != self.shown:
            assert_one_reason(job)
            self.shown = job.get("status")


@pytest.mark.parametrize("story", STORIES)
def test_all_faces_say_one_reason_in_every_story(story):
    Shown().live(STORIES[story])


@pytest.mark.parametrize("state", recorded.STATES)
def test_all_faces_say_one_reason_of_every_state(state):
    world = World()
    for step in recorded.STATES[state]:
        step(world)
    assert_one_reason(world.job())
    assert_one_reason(recorded.load(RECORDED[state]).job())


def test_a_reason_of_a_newer_operator_is_said_by_all():
    newer = (
        a_job().with_workers(1).with_status(phase="Running", reason="Dreaming", message="of more")
    )
    raw = newer.with_condition("Running", True, reason="AllPodsRunning").build()
    first, *_ = judge(Facts(JobPicture(raw))).findings
    assert (first.reason, first.message) == ("Dreaming", "of more")
    assert "operator is newer" in first.meaning.cause[0]
    assert "Dreaming" in draw_job(Facts(JobPicture(raw)), PAINT, NOW, 200)[1]
