"""Burst: many small jobs created at once, until all run, and until all have completed."""

from dataclasses import dataclass

from benchmarks.counters import Counts, since
from benchmarks.load import create_jobs, end_workers
from benchmarks.operators import Operator, RunningOperator
from benchmarks.scenarios.common import (
    COMPLETED,
    SERVERS,
    WORKERS,
    cpu_ms_per_job,
    job_names,
    percentile,
    wait_running,
    working_operator,
)
from benchmarks.site import Reading, Site
from localcluster import clock

SECONDS_PER_JOB = 1.0
LEAST_SECONDS = 60.0
LATE_SECONDS = 3.0
"""Events give way to jobs until a second after the last has waited, and are writes of the start as
well."""
OPERATOR = "operator"


@dataclass(frozen=True)
class Burst:
    """Times in seconds, CPU in milliseconds a job, requests a job.

    `cpu_ms_per_job` is each process's until the last job ran, `thread_ms_per_job` that of the
    operator's threads; `settled_cpu_ms_per_job`, the operator's, and the writes are counted until
    it had nothing more to write.
    `requests_to_completed` have those of the cleanup with them, and are empty where it was not
    waited for.
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
        """From the first creation until the last job ran."""
        return self.jobs / self.to_running_seconds


def measure_burst(
    site: Site, operator: Operator, jobs: int, prefix: str, with_cleanup: bool = False
) -> Burst:
    """Create so many jobs at once, and end them when all run."""
    site.report(f"burst: {jobs} jobs of {SERVERS} + {WORKERS}")
    with working_operator(site, operator, prefix) as running:
        return _measure(site, running, job_names(prefix, jobs), with_cleanup)


def _measure(site: Site, running: RunningOperator, names: list[str], with_cleanup: bool) -> Burst:
    manifests = [site.adapter.build_job(name, SERVERS, WORKERS) for name in names]
    before = site.read()
    cpu, threads = _cpu(site, running), running.cpu_seconds_of_threads()
    asked = create_jobs(site.rest, site.adapter, manifests)
    ran = wait_running(site, running, names, LEAST_SECONDS + len(names) * SECONDS_PER_JOB)
    cpu_when_running = _cpu(site, running)
    threads_when_running = running.cpu_seconds_of_threads()
    clock.sleep(LATE_SECONDS)
    site.settle()
    started, cpu_of_operator = site.read(), running.cpu_seconds() - cpu[OPERATOR]
    times = [when - asked[name] for name, when in zip(names, ran, strict=True)]
    to_completed = _complete(site, names)
    requests_to_completed = {}
    if with_cleanup:
        site.settle()
        requests_to_completed = _per_job(since(started.counts, site.read().counts), len(names))
    return Burst(
        jobs=len(names),
        to_running_seconds=max(ran) - min(asked.values()),
        p50_seconds=percentile(times, 50),
        p99_seconds=percentile(times, 99),
        to_completed_seconds=to_completed,
        settled_cpu_ms_per_job=cpu_of_operator * 1000 / len(names),
        cpu_ms_per_job=cpu_ms_per_job(cpu, cpu_when_running, len(names)),
        thread_ms_per_job={
            name: (seconds - threads.get(name, 0.0)) * 1000 / len(names)
            for name, seconds in threads_when_running.items()
        },
        peak_mb=running.memory().peak_mb,
        writes_per_job=_writes(site, before, started) / len(names),
        requests_to_running=_per_job(since(before.counts, started.counts), len(names)),
        requests_to_completed=requests_to_completed,
    )


def _cpu(site: Site, running: RunningOperator) -> dict[str, float]:
    return {OPERATOR: running.cpu_seconds(), **site.cpu()}


def _complete(site: Site, names: list[str]) -> float:
    started = clock.monotonic()
    end_workers(site.rest, site.adapter)
    seconds = LEAST_SECONDS + len(names) * SECONDS_PER_JOB
    ended = site.watch.wait(names, COMPLETED, seconds, site.report)
    return max(ended) - started


def _writes(site: Site, before: Reading, after: Reading) -> int:
    return site.writes_of(since(before.counts, after.counts)).total()


def _per_job(counts: Counts, jobs: int) -> dict[str, float]:
    """Rounded, without what happens now and then, whatever the number of jobs."""
    rates = {str(request): round(count / jobs, 2) for request, count in sorted(counts.items())}
    return {request: rate for request, rate in rates.items() if rate >= 0.1}
