"""What each figure must be, and what breaks the budget on any machine."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.figures import broken, figures
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


def with_crowd(**changes: Any) -> Series:
    series = a_series()
    assert series.crowd is not None
    return replace(series, crowd=replace(series.crowd, **changes))


SIZES = "one job of 1 + 10: sizes within limits (1 = yes)"
CROWD = "10 finished, 10 running"
LIMITS: dict[str, tuple[Callable[..., Series], str, float, float, str]] = {
    "writes": (
        *(with_burst, "writes_per_job", 10.0, 10.1),
        "100 jobs: operator's writes per start",
    ),
    "peak memory": (with_burst, "peak_mb", 80.0, 80.1, "100 jobs: peak memory"),
    "status": (with_wide, "status_bytes", 1_499_999, 1_500_000, SIZES),
    "ConfigMap": (with_wide, "config_map_bytes", 1_499_999, 1_500_000, SIZES),
    "variable": (with_wide, "variable_bytes", 130_999, 131_000, SIZES),
    "memory": (with_crowd, "alone_mb", ALONE_MB, ALONE_MB - 0.1, f"{CROWD}: memory a job"),
    "rest": (with_crowd, "writes_at_rest", 0, 1, f"{CROWD}: writes at rest"),
}


@pytest.mark.parametrize(("series", "field", "at", "beyond", "name"), LIMITS.values(), ids=LIMITS)
def test_beyond_its_limit_that_figure_alone_is_broken(series, field, at, beyond, name):
    assert broken(series(**{field: at})) == []
    [line] = broken(series(**{field: beyond}))
    assert line.startswith(f"{name}: ")


def test_every_portable_bound_is_tried():
    portable = {figure.name for figure in figures(a_series()) if figure.is_portable}
    assert portable == {name for *_, name in LIMITS.values()}


@pytest.mark.parametrize("alone", [(2.0, 3.0), (3.0, 2.0)])
def test_fairness_compares_with_the_faster_time_alone(alone):
    assert Fairness(20, 200, alone_p99_seconds=alone, beside_p99_seconds=3.0).ratio == 1.5
