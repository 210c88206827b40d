"""Crowd: thousands of finished and running jobs, and what it costs to have them there.

Copies of one finished and one running job, as the operator and the API server made them, are put
into etcd. The pods of finished jobs stay, so that all of them are seen. The node simulator, the
scheduler and the controller manager are stopped meanwhile: nothing happens, and it must cost
nothing. (The controller manager would also delete finished pods beyond 12,500.)
"""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.counters import since
from benchmarks.etcd import put_all
from benchmarks.family import Copies, capture
from benchmarks.jobwatch import TOUCHED
from benchmarks.load import create_jobs, end_workers
from benchmarks.operators import Operator, RunningOperator
from benchmarks.scenarios.common import (
    COMPLETED,
    SERVERS,
    WORKERS,
    elapsed,
    job_names,
    working_operator,
)
from benchmarks.site import Site
from localcluster import clock
from localcluster.components import CONTROLLER_MANAGER, SCHEDULER

START_SECONDS = 180.0
FINISHED, RUNNING = "sample-finished", "probe-sample-running"


@dataclass(frozen=True)
class Crowd:
    """Memory in MiB; CPU in percent of one core."""

    finished: int
    running: int
    objects: int
    started_seconds: float
    start_cpu_seconds: float
    list_seconds: float | None
    resident_mb: float
    peak_mb: float
    alone_mb: float
    rest_seconds: float
    cpu_percent_at_rest: float
    writes_at_rest: int

    @property
    def kb_per_job(self) -> float:
        """Memory that a job with its children adds."""
        return (self.peak_mb - self.alone_mb) * 1024 / (self.finished + self.running)


@dataclass(frozen=True)
class Size:
    """How many jobs there are, and for how long they are watched doing nothing."""

    finished: int
    running: int
    rest_seconds: float


def measure_crowd(site: Site, operator: Operator, size: Size) -> Crowd:
    """The last scenario of a site: the control plane is not whole after it."""
    site.report(f"crowd: {size.finished} finished and {size.running} running jobs")
    finished, running, alone_mb = _make_samples(site, operator)
    site.stop_simulator()
    site.stop_component(SCHEDULER)
    site.stop_component(CONTROLLER_MANAGER)
    objects = put_all(site.etcd_pid, _copies(finished, running, size))
    site.wait_until_shown()
    site.report(f"{objects} objects are there")
    name = "after-start"
    create_jobs(site.rest, site.adapter, [site.adapter.build_job(name, SERVERS, WORKERS)])
    with RunningOperator(
        operator, site.kubeconfig_for(operator.account), site.logs / "crowd.log"
    ) as process:
        started = clock.monotonic()
        acted = site.watch.wait([name], TOUCHED, START_SECONDS, site.report)[0]
        site.settle()
        start_cpu = process.cpu_seconds()
        before, cpu, at = site.read(), process.cpu_seconds(), clock.monotonic()
        clock.sleep(size.rest_seconds)
        seconds, cpu = elapsed(at), process.cpu_seconds() - cpu
        written = site.writes_of(since(before.counts, site.read().counts))
        memory = process.memory()
    return Crowd(
        finished=size.finished,
        running=size.running,
        objects=objects,
        started_seconds=acted - started,
        start_cpu_seconds=start_cpu,
        list_seconds=process.list_seconds(),
        resident_mb=memory.resident_mb,
        peak_mb=memory.peak_mb,
        alone_mb=alone_mb,
        rest_seconds=seconds,
        cpu_percent_at_rest=cpu / seconds * 100,
        writes_at_rest=written.total(),
    )


def _make_samples(site: Site, operator: Operator) -> tuple[Copies, Copies, float]:
    rest, adapter = site.rest, site.adapter
    with working_operator(site, operator, RUNNING.removeprefix("probe-")) as process:
        alone_mb = process.memory().resident_mb
        job = adapter.keep_pods(adapter.build_job(FINISHED, SERVERS, WORKERS))
        create_jobs(rest, adapter, [job])
        site.watch.wait([FINISHED], "Running", START_SECONDS, site.report)
        end_workers(rest, adapter, FINISHED)
        site.watch.wait([FINISHED], COMPLETED, START_SECONDS, site.report)
        site.settle()
        finished, running = (Copies(capture(rest, adapter, n)) for n in (FINISHED, RUNNING))
    return finished, running, alone_mb


def _copies(finished: Copies, running: Copies, size: Size) -> Iterator[tuple[str, bytes]]:
    for number, name in enumerate(job_names("finished", size.finished)):
        yield from finished.make(number, name)
    for number, name in enumerate(job_names("running", size.running), start=size.finished):
        yield from running.make(number, name)
