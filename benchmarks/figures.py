"""The figures that are shown, what each must be, and which of them hold on any machine."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from benchmarks.scenarios.burst import OPERATOR
from benchmarks.scenarios.crowd import Crowd
from benchmarks.scenarios.wide import Wide
from benchmarks.series import RatedBurst, Series
from localcluster.components import API_SERVER

LEASE_SECONDS = 15.0
RATIO_TO_FLOOR = 0.62
LEAST_BESIDE_PEERS = 1.4
WRITES_PER_JOB = 10.0
CROWD_JOBS = 11_000
KB_PER_JOB = 80.0
"""For any number of jobs. 400 MB for 11,000 is 32 KB a job; few jobs pay for the pages read."""


@dataclass(frozen=True)
class Figure:
    """One row: its value for each series, and the most (or least) that it may be."""

    name: str
    unit: str
    value: Callable[[Series], float | None]
    most: float | None = None
    least: float | None = None
    is_portable: bool = False
    """It does not depend on the machine: continuous integration fails on it."""

    def holds(self, series: Series) -> bool | None:
        """Whether the value is within its bounds; None where there is none, or no bound."""
        value = self.value(series)
        if value is None or (self.most is None and self.least is None):
            return None
        above = self.least is None or value >= self.least
        return above and (self.most is None or value <= self.most)

    @property
    def target(self) -> str:
        """The bound as it is shown."""
        if self.most is not None:
            return f"≤ {self.most:g}"
        return f"≥ {self.least:g}" if self.least is not None else ""


def figures(series: Series) -> Iterator[Figure]:
    """All rows, for series of these sizes."""
    for number, rated in enumerate(series.bursts):
        yield from _burst_figures(number, rated)
    yield from _wide_figures(series)
    if series.fairness:
        yield Figure(
            f"{series.fairness.jobs} small jobs beside one of {series.fairness.wide_workers} pods:"
            " p99 against alone",
            "×",
            lambda s: s.fairness.ratio if s.fairness else None,
            most=1.5,
        )
    yield Figure(
        "take-over after SIGTERM",
        "s",
        lambda s: s.takeover.terminated_seconds if s.takeover else None,
        most=2.0,
    )
    yield Figure(
        "take-over after a kill",
        "s",
        lambda s: s.takeover.killed_seconds if s.takeover else None,
        most=LEASE_SECONDS,
    )
    if series.crowd:
        yield from _crowd_figures(series.crowd)


def _burst_figures(number: int, rated: RatedBurst) -> Iterator[Figure]:
    is_small = rated.jobs <= 100

    def figure(name: str, unit: str, read: Callable[[RatedBurst], float | None]) -> Figure:
        title = f"{rated.jobs} jobs: {name}"
        return Figure(title, unit, lambda series: read(series.bursts[number]))

    yield figure("floor", "jobs/s", lambda r: r.floor_jobs_per_second)
    running = "floor, until its pods run"
    yield figure(running, "jobs/s", lambda r: r.floor_running_jobs_per_second)
    yield figure("to Running", "jobs/s", lambda r: r.jobs_per_second)
    ratio = figure("share of the floor", "×", lambda r: r.ratio)
    yield replace(ratio, least=RATIO_TO_FLOOR) if is_small else ratio
    if len(rated.bursts) > 1:
        yield figure("share of the floor, lowest burst", "×", lambda r: r.lowest_ratio)
    if rated.lean_floors:
        lean = "floor that writes in the operator's manner"
        yield figure(lean, "jobs/s", lambda r: r.lean_floor_jobs_per_second)
        yield figure(f"share of the {lean}", "×", lambda r: r.lean_ratio)
    p50 = figure("creation to Running, p50", "s", lambda r: r.median(lambda b: b.p50_seconds))
    yield replace(p50, most=2.0 if is_small else None)
    p99 = figure("creation to Running, p99", "s", lambda r: r.median(lambda b: b.p99_seconds))
    yield replace(p99, most=2.5 if is_small else None)
    ended = "all Completed after the workers' end"
    yield figure(ended, "s", lambda r: r.median(lambda b: b.to_completed_seconds))
    cpu = "operator's CPU per start"
    own = figure(cpu, "ms", lambda r: r.cpu_ms_per_job(OPERATOR))
    yield replace(own, most=8.0) if is_small else own
    cpu = "operator's CPU per start, until it has written its Events"
    yield figure(cpu, "ms", lambda r: r.median(lambda b: b.settled_cpu_ms_per_job))
    cpu = "API server's CPU per job of the floor"
    yield figure(cpu, "ms", lambda r: r.floor_cpu_ms_per_job(API_SERVER))
    cpu = "API server's CPU per start"
    server = figure(cpu, "ms", lambda r: r.cpu_ms_per_job(API_SERVER))
    yield replace(server, most=33.0) if is_small else server
    written = "operator's writes per start"
    writes = figure(written, "", lambda r: r.median(lambda b: b.writes_per_job))
    yield replace(writes, most=WRITES_PER_JOB, is_portable=True)
    peak = figure("peak memory", "MB", lambda r: max(b.peak_mb for b in r.bursts))
    yield replace(peak, most=80.0, is_portable=True) if is_small else peak


def _wide_figures(series: Series) -> Iterator[Figure]:
    for number, wide in enumerate(series.wide):
        if wide is not None:
            yield from _one_wide(number, f"one job of 1 + {wide.workers}")


def _one_wide(number: int, title: str) -> Iterator[Figure]:
    def figure(name: str, unit: str, read: Callable[[Wide], float | None]) -> Figure:
        def value(series: Series) -> float | None:
            wide = series.wide[number]
            return read(wide) if wide else None

        return Figure(f"{title}: {name}", unit, value)

    yield figure("all pods created", "s", lambda wide: wide.created_seconds)
    yield figure("ConfigMap created", "s", lambda wide: wide.config_map_seconds)
    within = figure("sizes within limits (1 = yes)", "", lambda w: float(w.is_within_limits))
    yield replace(within, least=1, is_portable=True)


def _crowd_figures(crowd: Crowd) -> Iterator[Figure]:
    is_full = crowd.finished + crowd.running >= CROWD_JOBS

    def figure(name: str, unit: str, read: Callable[[Crowd], float | None]) -> Figure:
        title = f"{crowd.finished} finished, {crowd.running} running: {name}"
        return Figure(title, unit, lambda series: read(series.crowd) if series.crowd else None)

    peak = figure("peak memory", "MB", lambda crowd: crowd.peak_mb)
    yield replace(peak, most=400.0 if is_full else None)
    memory = figure("memory a job", "KB", lambda crowd: crowd.kb_per_job)
    yield replace(memory, most=KB_PER_JOB, is_portable=True)
    yield figure("start until it acts", "s", lambda crowd: crowd.started_seconds)
    yield figure("one list of everything", "s", lambda crowd: crowd.list_seconds)
    yield figure("CPU at rest", "% of a core", lambda crowd: crowd.cpu_percent_at_rest)
    writes = figure("writes at rest", "", lambda crowd: crowd.writes_at_rest)
    yield replace(writes, most=0, is_portable=True)


def broken(series: Series) -> list[str]:
    """The portable figures that do not hold, and what was not finished, in words."""
    return [
        *(f"not finished: {reason}" for reason in series.unfinished),
        *_broken_figures(series),
    ]


def _broken_figures(series: Series) -> list[str]:
    return [
        f"{figure.name}: {figure.value(series):.3g} {figure.unit}, must be {figure.target}"
        for figure in figures(series)
        if figure.is_portable and figure.holds(series) is False
    ]
