"""A sample of what `make explore` tries whole: a fault in every story of a job's life.

And sequences of faults at random, most of them the same in every run. Some are drawn anew, each by
a seed that a failure names: `FAULTS_SEED=<seed> .venv/bin/pytest tests/faults -k drawn_before`.
"""

import os
import random

import pytest

from tests.faults.explore import Case, cases, violation
from tests.faults.sequences import draw_wildly
from tests.faults.stories import STORIES

WRITES, VIEWS = 10, 25
"""Of the hundred and the several hundred combinations of a story."""
FRESH = 15


def violations(chosen: list[Case]) -> dict[Case, str]:
    return {case: what for case in chosen if (what := violation(case))}


@pytest.mark.parametrize("story", STORIES)
def test_no_stale_view_harms_a_job(story: str) -> None:
    views = [case for case in cases(story) if case.fault.kind]
    assert violations(random.Random(story).sample(views, VIEWS)) == {}


@pytest.mark.parametrize("story", STORIES)
def test_no_write_that_fails_or_is_the_last_harms_a_job(story: str) -> None:
    writes = [case for case in cases(story) if not case.fault.kind]
    assert violations(random.Random(story).sample(writes, min(WRITES, len(writes)))) == {}


def test_a_job_ends_the_same_whatever_becomes_of_each_write() -> None:
    assert violations([case for case in cases("ends") if not case.fault.kind]) == {}


def test_no_standby_acts_on_old_jobs() -> None:
    every = cases("suspended and resumed")
    late = [c for c in every if c.fault.kind == "PaddleJob" and c.fault.has_new_leader]
    assert violations(late) == {}


def test_a_config_map_that_came_and_went_unseen_is_made_again() -> None:
    every = cases("loses its ConfigMap while a pod waits")
    stale = [c for c in every if c.fault.kind == "ConfigMap" and not c.fault.has_new_leader]
    assert violations(stale) == {}


@pytest.mark.parametrize("seed", range(150))
def test_every_invariant_holds(seed: int) -> None:
    draw_wildly(seed)


def test_faults_that_nobody_has_drawn_before() -> None:
    first = int(os.environ.get("FAULTS_SEED") or random.SystemRandom().getrandbits(32))
    for seed in range(first, first + FRESH):
        draw_wildly(seed)
