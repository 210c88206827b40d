"""Fairness: many small jobs, alone and beside one that is as large as all of them and more."""

from dataclasses import dataclass
from statistics import fmean

from benchmarks.load import create_jobs
from benchmarks.operators import Operator, RunningOperator
from benchmarks.scenarios.common import (
    SERVERS,
    WORKERS,
    job_names,
    percentile,
    wait_running,
    working_operator,
)
from benchmarks.site import Site

TIMEOUT_SECONDS = 300.0


@dataclass(frozen=True)
class Fairness:
    """Seconds from creation to Running of the small jobs: alone, before and after, and beside."""

    jobs: int
    wide_workers: int
    alone_p99_seconds: tuple[float, float]
    beside_p99_seconds: float

    @property
    def ratio(self) -> float:
        """How much longer the small jobs take beside the wide one."""
        return self.beside_p99_seconds / fmean(self.alone_p99_seconds)


def measure_fairness(site: Site, operator: Operator, jobs: int, wide_workers: int) -> Fairness:
    """The same small jobs alone, just after a wide job was created, and alone again."""
    site.report(f"fairness: {jobs} small jobs, alone and beside one of {wide_workers} pods")
    before = _alone(site, operator, jobs, "before")
    with working_operator(site, operator, "beside") as running:
        wide = site.adapter.build_job("wide", 1, wide_workers - 1)
        create_jobs(site.rest, site.adapter, [wide])
        beside = _p99(site, running, job_names("beside", jobs))
        wait_running(site, running, ["wide"], TIMEOUT_SECONDS)
    site.clean()
    after = _alone(site, operator, jobs, "after")
    return Fairness(jobs, wide_workers, (before, after), beside)


def _alone(site: Site, operator: Operator, jobs: int, prefix: str) -> float:
    with working_operator(site, operator, prefix) as running:
        seconds = _p99(site, running, job_names(prefix, jobs))
    site.clean()
    return seconds


def _p99(site: Site, running: RunningOperator, names: list[str]) -> float:
    manifests = [site.adapter.build_job(name, SERVERS, WORKERS) for name in names]
    asked = create_jobs(site.rest, site.adapter, manifests)
    ran = wait_running(site, running, names, TIMEOUT_SECONDS)
    return percentile([when - asked[n] for n, when in zip(names, ran, strict=True)], 99)
