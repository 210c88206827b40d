"""A sample of what `make explore` tries whole: stale views of every story of a job's life."""

import random

import pytest

from tests.faults.explore import cases, violation
from tests.faults.stories import STORIES

SAMPLE = 25
"""Of the several hundred combinations of a story."""


@pytest.mark.parametrize("story", STORIES)
def test_no_stale_view_harms_a_job(story: str) -> None:
    chosen = random.Random(story).sample(list(cases(story)), SAMPLE)
    assert {case: what for case in chosen if (what := violation(case))} == {}


def test_no_standby_acts_on_old_jobs() -> None:
    every = cases("suspended and resumed")
    late = [c for c in every if c.fault.kind == "PaddleJob" and c.fault.has_new_leader]
    assert {case: what for case in late if (what := violation(case))} == {}


def test_a_config_map_that_came_and_went_unseen_is_made_again() -> None:
    every = cases("loses its ConfigMap while a pod waits")
    stale = [c for c in every if c.fault.kind == "ConfigMap" and not c.fault.has_new_leader]
    assert {case: what for case in stale if (what := violation(case))} == {}
