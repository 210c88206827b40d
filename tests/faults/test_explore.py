"""A sample of what `make explore` tries whole: every fault of every story of a job's life."""

import random

import pytest

from tests.faults.explore import cases, violation
from tests.faults.stories import STORIES

VIEWS, WRITES = 25, 10
"""Of the several hundred stale views of a story, and of its hundred writes that fail."""


@pytest.mark.parametrize("story", STORIES)
def test_no_fault_harms_a_job(story: str) -> None:
    every, rng = list(cases(story)), random.Random(story)
    views, writes = ([c for c in every if bool(c.fault.kind) is of] for of in (True, False))
    chosen = rng.sample(views, VIEWS) + rng.sample(writes, WRITES)
    assert {case: what for case in chosen if (what := violation(case))} == {}


def test_no_standby_acts_on_old_jobs() -> None:
    every = cases("suspended and resumed")
    late = [c for c in every if c.fault.kind == "PaddleJob" and c.fault.has_new_leader]
    assert {case: what for case in late if (what := violation(case))} == {}


def test_a_config_map_that_came_and_went_unseen_is_made_again() -> None:
    every = cases("loses its ConfigMap while a pod waits")
    stale = [c for c in every if c.fault.kind == "ConfigMap" and not c.fault.has_new_leader]
    assert {case: what for case in stale if (what := violation(case))} == {}
