"""How figures of several bursts and operators become one."""

from dataclasses import replace

import pytest

from benchmarks.load import percentile
from tests.unit.benchmarks.measured import a_series, some_turns


def test_the_ratio_takes_the_mean_of_both_floors():
    assert a_series().bursts[0].ratio == pytest.approx((100 / 3) / 37.5)


def test_the_lowest_ratio_is_of_a_burst_and_the_floors_around_it():
    [rated] = a_series().bursts
    [burst], floors = rated.bursts, rated.floors
    bursts = tuple(replace(burst, to_running_seconds=s) for s in (4.0, 4.0))
    # 25 jobs/s each, between floors of 50, 25 and 100 jobs/s.
    three = (*floors, replace(floors[0], seconds=1.0))
    assert replace(rated, bursts=bursts, floors=three).lowest_ratio == 0.4


def test_operators_are_compared_round_by_round():
    # The machine was half as fast in the second round.
    assert some_turns("own", 1.0, 2.0, 1.0).compare(some_turns("peer", 1.5, 3.0, 9.0)) == 1.5


@pytest.mark.parametrize(
    ("percent", "expected"),
    [pytest.param(50, 2, id="median"), pytest.param(99, 4, id="p99"), pytest.param(1, 1, id="p1")],
)
def test_percentile(percent, expected):
    assert percentile([4, 1, 3, 2], percent) == expected
