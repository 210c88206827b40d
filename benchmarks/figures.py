"""The figures that are shown, their bounds, and which bounds must hold on any machine."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchmarks.scenarios.burst import OPERATOR
from benchmarks.scenarios.crowd import Crowd
from benchmarks.scenarios.wide import Wide
from benchmarks.series import RatedBurst, Series
from localcluster.cluster.components import API_SERVER

LEASE_SECONDS = 15.0
LEAST_BESIDE_PEERS = 1.4
CROWD_JOBS = 11_000


@dataclass(frozen=True)
class Figure:
    """One row: a value, and its highest or lowest allowed value."""

    name: str
    unit: str
    value: float | None
    most: float | None = None
    least: float | None = None
    is_portable: bool = False
    """The figure does not depend on the machine: `--check` fails if it is out of bounds."""

    def holds(self) -> bool | None:
        """Whether the value is within its bound; None without a value or a bound."""
        if self.value is None or (self.most is None and self.least is None):
            return None
        is_enough = self.least is None or self.value >= self.least
        return is_enough and (self.most is None or self.value <= self.most)

    @property
    def target(self) -> str:
        """The bound as text."""
        if self.most is not None:
            return f"≤ {self.most:g}"
        return f"≥ {self.least:g}" if self.least is not None else ""


def figures(series: Series) -> Iterator[Figure]:
    """All rows. A figure has the same name in every series."""
    for rated in series.bursts:
        yield from _named(f"{rated.jobs} jobs", _burst_figures(rated))
    for wide in filter(None, series.wide):
        yield from _named(f"one job of 1 + {wide.workers}", _wide_figures(wide))
    if fair := series.fairness:
        title = f"{fair.jobs} small jobs beside one of {fair.wide_workers} pods: p99 against alone"
        yield Figure(title, "×", fair.ratio, most=1.5)
    taken = series.takeover
    terminated, killed = (taken.terminated_seconds, taken.killed_seconds) if taken else (None, None)
    yield Figure("take-over after SIGTERM", "s", terminated, most=2.0)
    yield Figure("take-over after a kill", "s", killed, most=LEASE_SECONDS)
    if crowd := series.crowd:
        yield from _named(
            f"{crowd.finished} finished, {crowd.running} running", _crowd_figures(crowd)
        )


def _named(title: str, rows: Iterator[Figure]) -> Iterator[Figure]:
    return (replace(figure, name=f"{title}: {figure.name}") for figure in rows)


def _burst_figures(rated: RatedBurst) -> Iterator[Figure]:
    def of_small(bound: float) -> float | None:
        return bound if rated.jobs <= 100 else None

    yield Figure("floor", "jobs/s", rated.floor_jobs_per_second)
    yield Figure("floor, until its pods run", "jobs/s", rated.floor_running_jobs_per_second)
    yield Figure("to Running", "jobs/s", rated.jobs_per_second)
    yield Figure("share of the floor", "×", rated.ratio, least=of_small(0.62))
    if len(rated.bursts) > 1:
        yield Figure("share of the floor, lowest burst", "×", rated.lowest_ratio)
    if floor := rated.matched_floor_jobs_per_second:
        title = "floor with the operator's write options"
        yield Figure(title, "jobs/s", floor)
        yield Figure(f"share of the {title}", "×", rated.jobs_per_second / floor)
    p50, p99 = rated.median(lambda b: b.p50_seconds), rated.median(lambda b: b.p99_seconds)
    yield Figure("creation to Running, p50", "s", p50, most=of_small(2.0))
    yield Figure("creation to Running, p99", "s", p99, most=of_small(2.5))
    completed = rated.median(lambda b: b.to_completed_seconds)
    yield Figure("all Completed after the workers' end", "s", completed)
    cpu = "operator's CPU per start"
    yield Figure(cpu, "ms", rated.cpu_ms_per_job(OPERATOR), most=of_small(8.0))
    settled = rated.median(lambda b: b.settled_cpu_ms_per_job)
    yield Figure(f"{cpu}, until it has written its Events", "ms", settled)
    floors = rated.floor_cpu_ms_per_job(API_SERVER)
    yield Figure("API server's CPU per job of the floor", "ms", floors)
    cpu = "API server's CPU per start"
    yield Figure(cpu, "ms", rated.cpu_ms_per_job(API_SERVER), most=of_small(33.0))
    writes = rated.median(lambda b: b.writes_per_job)
    yield Figure("operator's writes per start", "", writes, most=10.0, is_portable=True)
    peak = max(burst.peak_mb for burst in rated.bursts)
    yield Figure("peak memory", "MB", peak, most=of_small(80.0), is_portable=True)


def _wide_figures(wide: Wide) -> Iterator[Figure]:
    yield Figure("all pods created", "s", wide.created_seconds)
    yield Figure("ConfigMap created", "s", wide.config_map_seconds)
    title = "sizes within limits (1 = yes)"
    yield Figure(title, "", float(wide.is_within_limits), least=1, is_portable=True)


def _crowd_figures(crowd: Crowd) -> Iterator[Figure]:
    is_full = crowd.finished + crowd.running >= CROWD_JOBS
    yield Figure("peak memory", "MB", crowd.peak_mb, most=400.0 if is_full else None)
    # The bound holds for any number of jobs. 11,000 jobs in 400 MB add 32 KB each. A few jobs
    # add more each, because they share the memory for reading a page of a list.
    yield Figure("memory a job", "KB", crowd.kb_per_job, most=80.0, is_portable=True)
    yield Figure("start until it acts", "s", crowd.started_seconds)
    yield Figure("longest list", "s", crowd.list_seconds)
    yield Figure("CPU at rest", "% of a core", crowd.cpu_percent_at_rest)
    yield Figure("writes at rest", "", crowd.writes_at_rest, most=0, is_portable=True)


def broken(series: Series) -> list[str]:
    """Messages about portable figures that are out of bounds, and about what was not finished."""
    return [
        *(f"not finished: {reason}" for reason in series.unfinished),
        *(
            f"{figure.name}: {figure.value:.3g} {figure.unit}, must be {figure.target}"
            for figure in figures(series)
            if figure.is_portable and figure.holds() is False
        ),
    ]
