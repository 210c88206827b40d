"""What scenarios share: starting an operator that is known to work, names, percentiles."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from benchmarks.load import create_jobs
from benchmarks.operators import Operator, RunningOperator
from benchmarks.site import Site
from localcluster import clock

RUNNING = "Running"
COMPLETED = "Completed"
START_SECONDS = 120.0
SERVERS, WORKERS = 2, 2


@contextmanager
def working_operator(site: Site, operator: Operator, name: str) -> Iterator[RunningOperator]:
    """The operator, started, with a first job running: its caches are full, it leads."""
    probe = f"probe-{name}"
    with RunningOperator(
        operator, site.kubeconfig_for(operator.account), site.logs / f"{name}.log"
    ) as running:
        create_jobs(site.rest, site.adapter, [site.adapter.build_job(probe, SERVERS, WORKERS)])
        wait_running(site, running, [probe], START_SECONDS)
        site.settle()
        yield running


def wait_running(
    site: Site, running: RunningOperator, names: Sequence[str], seconds: float
) -> list[float]:
    """When each job was seen Running; raises with the operator's last words when it is not."""
    try:
        return site.watch.wait(names, RUNNING, seconds, site.report)
    except TimeoutError as error:
        running.process.raise_if_dead()
        raise TimeoutError(f"{error}; the operator:\n{running.process.last_log_lines()}") from error


def cpu_ms_per_job(
    before: dict[str, float], after: dict[str, float], jobs: int
) -> dict[str, float]:
    """The CPU that each process took for a job, in milliseconds."""
    return {name: (after[name] - seconds) * 1000 / jobs for name, seconds in before.items()}


def job_names(prefix: str, count: int) -> list[str]:
    """Names of one length."""
    return [f"{prefix}-{number:05}" for number in range(count)]


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile."""
    ordered = sorted(values)
    rank = max(1, -(-len(ordered) * percent // 100))
    return ordered[int(rank) - 1]


def elapsed(started: float) -> float:
    """Seconds since a moment of the monotonic clock."""
    return clock.monotonic() - started
