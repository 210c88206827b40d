"""The page, the chart and the verdicts."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from benchmarks.chart import draw_bars, draw_chart
from benchmarks.figures import broken, figures
from benchmarks.load import percentile
from benchmarks.machine import describe_machine
from benchmarks.report import Run, build_page
from localcluster.cluster.components import API_SERVER
from tests.unit.benchmarks.measured import a_series, some_turns


def test_nothing_is_broken_where_all_holds() -> None:
    assert not broken(a_series())


def test_the_ratio_takes_the_mean_of_both_floors() -> None:
    assert a_series().bursts[0].ratio == pytest.approx((100 / 3) / 37.5)


def test_the_lowest_ratio_is_of_a_burst_and_the_floors_around_it() -> None:
    [rated] = a_series().bursts
    [burst], floors = rated.bursts, rated.floors
    bursts = tuple(replace(burst, to_running_seconds=s) for s in (4.0, 4.0))
    # 25 jobs/s each, between floors of 50, 25 and 100 jobs/s.
    three = (*floors, replace(floors[0], seconds=1.0))
    assert replace(rated, bursts=bursts, floors=three).lowest_ratio == 0.4


def test_of_several_bursts_the_median_is_told() -> None:
    [rated] = a_series().bursts
    [burst] = rated.bursts
    times = (1.0, 9.0, 2.0)
    several = replace(rated, bursts=tuple(replace(burst, p50_seconds=t) for t in times))
    assert several.median(lambda each: each.p50_seconds) == 2.0


def test_the_page_says_what_the_limit_is() -> None:
    page = build_page(Run("command", 1.0, describe_machine(), (a_series(),)))
    assert "the bare loop alone took 20.0 ms a job, the operator 30.0 ms" in page
    assert "take 17.0 ms of the API server's CPU: 1 × POST jobs 7.0 ms, 4 × POST pods" in page


def test_the_page_says_whose_cpu_a_start_takes() -> None:
    machine = describe_machine() | {"cores": 2}
    page = build_page(Run("command", 1.0, machine, (a_series(),)))
    assert f"| {API_SERVER} | 20.0 | 30.0 |" in page
    assert "| operator | 0.0 | 4.0 |" in page
    assert "| all of them | 23.0 | 35.0 |" in page
    assert "| 2 cores had | 66.7 | 60.0 |" in page


def test_the_page_says_which_threads_take_the_operators_cpu() -> None:
    page = build_page(Run("command", 1.0, describe_machine(), (a_series(),)))
    assert "they kept one core busy for 13% of the time" in page
    assert "| worker | 3.0 |\n| watch-pods.v1 | 1.5 |\n" in page
    assert "| elect |" not in page


def test_the_page_shows_the_profile_where_there_is_one() -> None:
    series = a_series()
    shown = build_page(Run("command", 1.0, describe_machine(), (series,)))
    assert shown.index("| everything else | 75% |") < shown.index("| JSON | 25% |")
    assert "held the interpreter's lock for 12% of the time" in shown
    assert "| the queue | 100% |" in shown
    series = replace(series, profile=None)
    assert "purpose" not in build_page(Run("command", 1.0, describe_machine(), (series,)))


def test_operators_are_compared_round_by_round() -> None:
    # The machine was half as fast in the second round.
    assert some_turns("own", 1.0, 2.0, 1.0).compare(some_turns("peer", 1.5, 3.0, 9.0)) == 1.5


def test_the_page_shows_operators_side_by_side() -> None:
    both = (some_turns("own", 2.0), some_turns("peer", 4.0))
    page = build_page(Run("command", 1.0, describe_machine(), (a_series(),), both))
    assert (
        "| all | own | 50.0 | 1.00 s | 2.00 s | 4.0 ms | 30.0 ms | 9.0 | 60.0 MB | 1.00 |" in page
    )
    assert (
        "| all | peer | 25.0 | 1.00 s | 2.00 s | 4.0 ms | 30.0 ms | 9.0 | 60.0 MB | 2.00 |" in page
    )
    assert "Must be ≥ 1.4 × the best other: 2.00 holds." in page
    assert "own reached 1.11 × the rate of the bare loop's pods" in page
    assert "it would be 1.80 × peer." in page


def test_the_page_says_that_a_peer_is_too_near() -> None:
    both = (some_turns("own", 3.0), some_turns("peer", 4.0))
    page = build_page(Run("command", 1.0, describe_machine(), (a_series(),), both))
    assert "Must be ≥ 1.4 × the best other: 1.33 **does not hold**." in page


def test_the_page_does_not_judge_other_operators() -> None:
    both = (some_turns("one", 2.0), some_turns("two", 4.0))
    series = (replace(a_series(), operator="one"), replace(a_series(), operator="two"))
    page = build_page(Run("command", 1.0, describe_machine(), series, both, is_judged=False))
    assert "| | one | two |\n|---|---|---|\n" in page
    assert "| 100 jobs: operator's writes per start | 9 | 9 |\n" in page
    assert "Must be" not in page
    assert "it would be 1.80 × two." in page


def test_a_write_at_rest_breaks_the_budget() -> None:
    series = a_series()
    assert series.crowd
    noisy = replace(series, crowd=replace(series.crowd, writes_at_rest=1))
    assert [line.partition(":")[0] for line in broken(noisy)] == ["10 finished, 10 running"]


def test_what_takes_too_long_leaves_the_rest() -> None:
    failed = replace(
        a_series(), wide=(None,), fairness=None, crowd=None, unfinished=("crowd: no sign of life",)
    )
    assert broken(failed) == ["not finished: crowd: no sign of life"]
    for pair in ((a_series(), failed), (failed, a_series())):
        page = build_page(Run("command", 1.0, describe_machine(), pair))
        assert "- operator: crowd: no sign of life" in page
        assert "| 100 jobs: share of the floor |" in page


def test_a_slow_machine_breaks_nothing() -> None:
    series = a_series()
    [rated] = series.bursts
    [burst] = rated.bursts
    slow = replace(rated, bursts=(replace(burst, to_running_seconds=1000.0, p99_seconds=900.0),))
    assert not broken(replace(series, bursts=(slow,)))


def test_every_figure_has_a_row() -> None:
    series = a_series()
    page = build_page(Run("command", 1.0, describe_machine(), (series, series)))
    assert [figure.name for figure in figures(series) if f"| {figure.name} |" not in page] == []


def test_the_chart_is_svg_with_a_bar_a_rate() -> None:
    root = ElementTree.fromstring(draw_chart([a_series()]))
    assert len(root.findall("{*}rect")) == 3  # the ground, the floor and the operator


def test_a_label_cannot_break_the_chart() -> None:
    ElementTree.fromstring(draw_bars("a < b", [("<&>", 1.0, "red")]))


@pytest.mark.parametrize(
    ("percent", "expected"),
    [pytest.param(50, 2, id="median"), pytest.param(99, 4, id="p99"), pytest.param(1, 1, id="p1")],
)
def test_percentile(percent: float, expected: float) -> None:
    assert percentile([4, 1, 3, 2], percent) == expected
