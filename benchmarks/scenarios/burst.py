"""Burst: many small jobs are created at once, run, and complete."""

from dataclasses import dataclass

from benchmarks import procfs
from benchmarks.counters import Counts
from benchmarks.load import (
    COMPLETED,
    SERVERS,
    WORKERS,
    cpu_ms_per_job,
    end_workers,
    job_names,
    percentile,
    start_jobs,
    wait_running,
    working_operator,
)
from benchmarks.operators import Operator, RunningOperator
from benchmarks.site import Site
from localcluster.machine import clock

SECONDS_PER_JOB = 1.0
LEAST_SECONDS = 60.0
LATE_SECONDS = 3.0
"""How long to wait before a start's writes are counted, so that they include its Events. The
operator defers Events until, for one second, no job of the namespace had to wait for a worker."""
OPERATOR = "operator"


@dataclass(frozen=True)
class Burst:
    """Times in seconds, CPU in milliseconds per job, requests per job.

    `cpu_ms_per_job` is the CPU of each process until the last job ran, and `thread_ms_per_job` that
    of each thread of the operator. `settled_cpu_ms_per_job` is the CPU of the operator until it had
    nothing more to write; writes and `requests_to_running` are also counted until then.
    `requests_to_completed` has the later requests, including the cleanup's; it is empty if the
    burst did not wait for the cleanup.
    """

    jobs: int
    to_running_seconds: float
    p50_seconds: float
    p99_seconds: float
    to_completed_seconds: float
    settled_cpu_ms_per_job: float
    cpu_ms_per_job: dict[str, float]
    thread_ms_per_job: dict[str, float]
    peak_mb: float
    writes_per_job: float
    requests_to_running: dict[str, float]
    requests_to_completed: dict[str, float]

    @property
    def jobs_per_second(self) -> float:
        """The rate from the first creation until the last job ran."""
        return self.jobs / self.to_running_seconds


def measure_burst(
    site: Site, operator: Operator, jobs: int, prefix: str, with_cleanup: bool = False
) -> Burst:
    """Start the operator, create this number of jobs at once, and end their workers when all run.

    The jobs stay. `with_cleanup` counts the requests of the operator's cleanup, too.
    """
    site.report(f"burst: {jobs} jobs of {SERVERS} + {WORKERS}")
    with working_operator(site, operator, prefix) as running:
        return _measure(site, running, job_names(prefix, jobs), with_cleanup)


def _measure(site: Site, running: RunningOperator, names: list[str], with_cleanup: bool) -> Burst:
    jobs, counts = len(names), site.counts()
    cpu = {OPERATOR: running.cpu_seconds(), **site.cpu()}
    threads = procfs.cpu_seconds_of_threads(running.pid)
    asked = start_jobs(site, names)
    ran = wait_running(site, running, names, LEAST_SECONDS + jobs * SECONDS_PER_JOB)
    cpu_when_running = {OPERATOR: running.cpu_seconds(), **site.cpu()}
    threads_when_running = procfs.cpu_seconds_of_threads(running.pid)
    clock.sleep(LATE_SECONDS)
    site.settle()
    started, cpu_of_operator = site.counts(), running.cpu_seconds() - cpu[OPERATOR]
    times = [when - asked[name] for name, when in zip(names, ran, strict=True)]
    to_completed = _complete(site, names)
    if with_cleanup:
        site.settle()
    cleaned_up = site.counts() - started if with_cleanup else Counts()
    return Burst(
        jobs=jobs,
        to_running_seconds=max(ran) - min(asked.values()),
        p50_seconds=percentile(times, 50),
        p99_seconds=percentile(times, 99),
        to_completed_seconds=to_completed,
        settled_cpu_ms_per_job=cpu_of_operator * 1000 / jobs,
        cpu_ms_per_job=cpu_ms_per_job(cpu, cpu_when_running, jobs),
        thread_ms_per_job=cpu_ms_per_job(threads, threads_when_running, jobs),
        peak_mb=running.memory_mb(procfs.PEAK),
        writes_per_job=site.writes_of(started - counts) / jobs,
        requests_to_running=_per_job(started - counts, jobs),
        requests_to_completed=_per_job(cleaned_up, jobs),
    )


def _complete(site: Site, names: list[str]) -> float:
    started = clock.monotonic()
    end_workers(site)
    seconds = LEAST_SECONDS + len(names) * SECONDS_PER_JOB
    return max(site.watch.wait(names, COMPLETED, seconds, site.report)) - started


def _per_job(counts: Counts, jobs: int) -> dict[str, float]:
    """Requests per job, rounded, without those that are rarer than one in ten jobs."""
    rates = {request: round(count / jobs, 2) for request, count in sorted(counts.items())}
    return {request: rate for request, rate in rates.items() if rate >= 0.1}
