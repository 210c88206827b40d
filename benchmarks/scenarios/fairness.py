"""Fairness: many small jobs, alone and beside one that is as large as all of them and more."""

from dataclasses import dataclass

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
        """How much longer the small jobs take beside the wide one than at their best alone."""
        return self.beside_p99_seconds / min(self.alone_p99_seconds)


def measure_fairness(site: Site, operator: Operator, jobs: int, wide_workers: int) -> Fairness:
    """The same small jobs alone, just after a wide job was created, and alone again.

    One operator sees all three, and what is there already stays: the last is the slowest.
    """
    site.report(f"fairness: {jobs} small jobs, alone and beside one of {wide_workers} pods")
    with working_operator(site, operator, "fairness") as running:
        before = _p99(site, running, job_names("before", jobs))
        create_jobs(site.rest, site.adapter, [site.adapter.build_job("wide", 1, wide_workers - 1)])
        beside = _p99(site, running, job_names("beside", jobs))
        wait_running(site, running, ["wide"], TIMEOUT_SECONDS)
        after = _p99(site, running, job_names("after", jobs))
    return Fairness(jobs, wide_workers, (before, after), beside)


def _p99(site: Site, running: RunningOperator, names: list[str]) -> float:
    manifests = [site.adapter.build_job(name, SERVERS, WORKERS) for name in names]
    asked = create_jobs(site.rest, site.adapter, manifests)
    ran = wait_running(site, running, names, TIMEOUT_SECONDS)
    return percentile([when - asked[n] for n, when in zip(names, ran, strict=True)], 99)
