"""Whatever happens to a job, in whatever order: it comes to an end, and every invariant holds.

Most sequences are the same in every run; some are drawn anew, each by a seed that a failure names:
`FAULTS_SEED=<seed> .venv/bin/pytest tests/faults/test_random_faults.py -k drawn_before`.
"""

import os
import random

import pytest

from tests.faults.sequences import draw_wildly

FRESH = 15


@pytest.mark.parametrize("seed", range(150))
def test_every_invariant_holds(seed: int) -> None:
    draw_wildly(seed)


def test_faults_that_nobody_has_drawn_before() -> None:
    first = int(os.environ.get("FAULTS_SEED") or random.SystemRandom().getrandbits(32))
    for seed in range(first, first + FRESH):
        draw_wildly(seed)
