"""What each figure must be, and what breaks the budget on any machine."""

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.figures import broken, figures
from benchmarks.scenarios.crowd import Crowd
from benchmarks.scenarios.fairness import Fairness
from benchmarks.series import Series
from tests.unit.benchmarks.measured import a_series

ALONE_MB = 60 - 80 * 20 / 1024
"""Of 60 MB at the peak, with 20 jobs: 80 KB a job."""


def with_burst(**changes: Any) -> Series:
    series = a_series()
    [rated] = series.bursts
    [burst] = rated.bursts
    return replace(series, bursts=(replace(rated, bursts=(replace(burst, **changes),)),))


def with_wide(**changes: Any) -> Series:
    series = a_series()
    [wide] = series.wide
    assert wide is not None
    return replace(series, wide=(replace(wide, **changes),))


def a_crowd(**changes: Any) -> Crowd:
    crowd = a_series().crowd
    assert crowd is not None
    return replace(crowd, **changes)


def with_crowd(**changes: Any) -> Series:
    return replace(a_series(), crowd=a_crowd(**changes))


SIZES = "one job of 1 + 10: sizes within limits (1 = yes)"
CROWD = "10 finished, 10 running"
AT_THE_LIMIT = [
    pytest.param(with_burst(writes_per_job=10.0), id="writes"),
    pytest.param(with_burst(peak_mb=80.0), id="peak memory"),
    pytest.param(with_wide(status_bytes=1_499_999), id="status"),
    pytest.param(with_wide(config_map_bytes=1_499_999), id="ConfigMap"),
    pytest.param(with_wide(variable_bytes=130_999), id="variable"),
    pytest.param(with_crowd(alone_mb=ALONE_MB), id="memory a job"),
    pytest.param(with_crowd(writes_at_rest=0), id="writes at rest"),
]
BEYOND = [
    pytest.param(
        with_burst(writes_per_job=10.1), "100 jobs: operator's writes per start", id="writes"
    ),
    pytest.param(with_burst(peak_mb=80.1), "100 jobs: peak memory", id="peak memory"),
    pytest.param(with_wide(status_bytes=1_500_000), SIZES, id="status"),
    pytest.param(with_wide(config_map_bytes=1_500_000), SIZES, id="ConfigMap"),
    pytest.param(with_wide(variable_bytes=131_000), SIZES, id="variable"),
    pytest.param(with_crowd(alone_mb=ALONE_MB - 0.1), f"{CROWD}: memory a job", id="memory a job"),
    pytest.param(with_crowd(writes_at_rest=1), f"{CROWD}: writes at rest", id="writes at rest"),
]


@pytest.mark.parametrize("series", AT_THE_LIMIT)
def test_at_its_limit_nothing_is_broken(series: Series) -> None:
    assert broken(series) == []


@pytest.mark.parametrize(("series", "name"), BEYOND)
def test_beyond_a_limit_that_figure_alone_is_broken(series: Series, name: str) -> None:
    [line] = broken(series)
    assert line.startswith(f"{name}: ")


def test_every_portable_bound_is_tried() -> None:
    portable = {figure.name for figure in figures(a_series()) if figure.is_portable}
    assert portable == {each.values[1] for each in BEYOND}


@pytest.mark.parametrize("alone", [(2.0, 3.0), (3.0, 2.0)])
def test_fairness_compares_with_the_faster_time_alone(alone: tuple[float, float]) -> None:
    assert Fairness(20, 200, alone_p99_seconds=alone, beside_p99_seconds=3.0).ratio == 1.5


def test_memory_a_job_is_what_all_jobs_add() -> None:
    crowd = a_crowd(finished=30, running=10, alone_mb=50.0, peak_mb=55.0)
    assert crowd.kb_per_job == 5 * 1024 / 40
