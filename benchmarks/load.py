"""Creates many jobs at once like users, reports ended workers like kubelets, and measures times."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from benchmarks.operators import Operator, RunningOperator
from benchmarks.site import PODS, Site
from kube.client import MERGE_PATCH
from localcluster.client.rest import Raw
from localcluster.machine import clock

RUNNING = "Running"
COMPLETED = "Completed"
START_SECONDS = 120.0
SERVERS, WORKERS = 2, 2
THREADS = 16
Item = TypeVar("Item")


def in_threads(do: Callable[[Item], object], items: Iterable[Item]) -> None:
    """Call the function for each item, in 16 threads; raises the first error."""
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(do, items))


@contextmanager
def working_operator(site: Site, operator: Operator, name: str) -> Iterator[RunningOperator]:
    """Start an operator, and yield it when a first job runs: it leads then, and has full caches."""
    probe = f"probe-{name}"
    with site.start_operator(operator, name) as running:
        start_jobs(site, [probe])
        wait_running(site, running, [probe], START_SECONDS)
        site.settle()
        yield running


def start_jobs(
    site: Site, names: Sequence[str], servers: int = SERVERS, workers: int = WORKERS
) -> dict[str, float]:
    """Create jobs of one size as fast as possible.

    Returns the time of each request, on the monotonic clock.
    """
    path = site.adapter.path
    asked: dict[str, float] = {}

    def create(job: tuple[str, bytes]) -> None:
        asked[job[0]] = clock.monotonic()
        site.client.send("POST", path, job[1])

    in_threads(create, build_bodies(site, names, servers, workers).items())
    return asked


def build_bodies(
    site: Site, names: Iterable[str], servers: int = SERVERS, workers: int = WORKERS
) -> dict[str, bytes]:
    """For jobs of one size: the body of the request that creates each job, by the job's name."""
    build = site.adapter.build_job
    return {name: json.dumps(build(name, servers, workers)).encode() for name in names}


def wait_running(
    site: Site, running: RunningOperator, names: Sequence[str], seconds: float
) -> list[float]:
    """Wait until all jobs run; returns the time at which each was seen Running.

    Raises TimeoutError with the operator's last log lines.
    """
    try:
        return site.watch.wait(names, RUNNING, seconds, site.report)
    except TimeoutError as error:
        running.raise_if_dead()
        raise TimeoutError(f"{error}; the operator:\n{running.last_log_lines()}") from error


def start_and_wait(
    site: Site, running: RunningOperator, names: Sequence[str], seconds: float
) -> list[float]:
    """Create many small jobs at once; returns how long each took until it ran."""
    asked = start_jobs(site, names)
    ran = wait_running(site, running, names, seconds)
    return [when - asked[name] for name, when in zip(names, ran, strict=True)]


def end_workers(site: Site, job: str = "") -> None:
    """Report every running worker as succeeded, or only those whose names begin with `job`."""
    running = [
        pod
        for pod in site.client.get(PODS, {"fieldSelector": "status.phase=Running"})["items"]
        if site.adapter.is_worker(pod) and pod["metadata"]["name"].startswith(job)
    ]

    def end(pod: Raw) -> None:
        path = f"{PODS}/{pod['metadata']['name']}/status"
        site.client.patch(path, {"status": _ended_status(pod)}, MERGE_PATCH)

    in_threads(end, running)


def _ended_status(pod: Raw) -> Raw:
    """The status that a kubelet reports for a pod whose containers have exited with 0."""
    terminated = {"terminated": {"exitCode": 0, "reason": "Completed"}}
    statuses = [
        {**each, "ready": False, "state": terminated}
        for each in pod["status"].get("containerStatuses", [])
    ]
    return {"phase": "Succeeded", "containerStatuses": statuses}


def job_names(prefix: str, count: int) -> list[str]:
    """Names of jobs, all of the same length."""
    return [f"{prefix}-{number:05}" for number in range(count)]


def cpu_ms_per_job(
    before: dict[str, float], after: dict[str, float], jobs: int
) -> dict[str, float]:
    """The CPU that each process or thread used per job, in milliseconds."""
    return {name: (cpu - before.get(name, 0.0)) * 1000 / jobs for name, cpu in after.items()}


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile."""
    ordered = sorted(values)
    rank = max(1, -(-len(ordered) * percent // 100))
    return ordered[int(rank) - 1]
