"""Fairness: how long many small jobs take alone, and beside one job that is larger than all of them
together.
"""

from dataclasses import dataclass

from benchmarks.load import (
    job_names,
    percentile,
    start_and_wait,
    start_jobs,
    wait_running,
    working_operator,
)
from benchmarks.operators import Operator
from benchmarks.site import Site

TIMEOUT_SECONDS = 300.0


@dataclass(frozen=True)
class Fairness:
    """The 99th percentile of the time from creation to Running of the small jobs: alone, before and
    after the wide job was created, and beside it.
    """

    jobs: int
    wide_workers: int
    alone_p99_seconds: tuple[float, float]
    beside_p99_seconds: float

    @property
    def ratio(self) -> float:
        """The percentile beside the wide job divided by the better one of the two runs alone."""
        return self.beside_p99_seconds / min(self.alone_p99_seconds)


def measure_fairness(site: Site, operator: Operator, jobs: int, wide_workers: int) -> Fairness:
    """Start the same small jobs alone, just after a wide job was created, and alone again.

    The same operator handles all three runs, and earlier jobs stay, which makes later runs slower.
    """
    site.report(f"fairness: {jobs} small jobs, alone and beside one of {wide_workers} pods")
    with working_operator(site, operator, "fairness") as running:

        def p99(prefix: str) -> float:
            names = job_names(prefix, jobs)
            return percentile(start_and_wait(site, running, names, TIMEOUT_SECONDS), 99)

        before = p99("before")
        start_jobs(site, ["wide"], 1, wide_workers - 1)
        beside = p99("beside")
        wait_running(site, running, ["wide"], TIMEOUT_SECONDS)
        return Fairness(jobs, wide_workers, (before, p99("after")), beside)
