"""Crowd: what thousands of finished and running jobs cost while nothing happens.

Copies of one finished and one running job, as the operator and the API server made them, are put
into etcd. The pods of finished jobs stay, so that the operator sees all of them. The node
simulator, the scheduler and the controller manager are stopped meanwhile: nothing changes, so the
operator should do nothing. (The controller manager would also delete finished pods beyond 12,500.)
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from benchmarks import procfs
from benchmarks.etcd import put_all
from benchmarks.family import Copies, capture
from benchmarks.jobwatch import TOUCHED
from benchmarks.load import (
    COMPLETED,
    SERVERS,
    WORKERS,
    end_workers,
    job_names,
    start_jobs,
    working_operator,
)
from benchmarks.operators import Operator
from benchmarks.site import Site, rests, wait_for
from localcluster.machine import clock

START_SECONDS = 180.0
IDLE_SHARE = 0.01
"""An operator that uses less than this share of one core is idle. It can be busy even after its
last write, because it still looks at finished jobs."""
FINISHED, RUNNING = "sample-finished", "probe-sample-running"


@dataclass(frozen=True)
class Crowd:
    """Memory in MiB, CPU in percent of one core.

    `started_seconds` passed until the operator acted on a new job. `alone_mb` is its memory with
    one job. `list_seconds` is None for an operator that does not log it.
    """

    finished: int
    running: int
    started_seconds: float
    list_seconds: float | None
    peak_mb: float
    alone_mb: float
    cpu_percent_at_rest: float
    writes_at_rest: int

    @property
    def kb_per_job(self) -> float:
        """Memory in KiB that a job with its children adds."""
        return (self.peak_mb - self.alone_mb) * 1024 / (self.finished + self.running)


def measure_crowd(
    site: Site, operator: Operator, finished: int, running: int, rest_seconds: float
) -> Crowd:
    """Measure a crowd. This must be a site's last scenario: it stops parts of the control plane."""
    site.report(f"crowd: {finished} finished and {running} running jobs")
    samples, alone_mb = _make_samples(site, operator)
    site.freeze()
    names = (job_names("finished", finished), job_names("running", running))
    objects = put_all(site.etcd_pid, _copies(zip(samples, names, strict=True)))
    site.wait_until_shown()
    site.report(f"{objects} objects are there")
    name = "after-start"
    start_jobs(site, [name])
    with site.start_operator(operator, "crowd") as process:
        started = clock.monotonic()
        acted = site.watch.wait([name], TOUCHED, START_SECONDS, site.report)[0]
        site.settle()
        wait_for(
            "the operator is idle", partial(rests, process.cpu_seconds, IDLE_SHARE), START_SECONDS
        )
        counts, cpu, at = site.counts(), process.cpu_seconds(), clock.monotonic()
        clock.sleep(rest_seconds)
        share = (process.cpu_seconds() - cpu) / (clock.monotonic() - at)
        return Crowd(
            finished=finished,
            running=running,
            started_seconds=acted - started,
            list_seconds=process.list_seconds(),
            peak_mb=process.memory_mb(procfs.PEAK),
            alone_mb=alone_mb,
            cpu_percent_at_rest=share * 100,
            writes_at_rest=site.writes_of(site.counts() - counts),
        )


def _make_samples(site: Site, operator: Operator) -> tuple[list[Copies], float]:
    client, adapter = site.client, site.adapter
    with working_operator(site, operator, RUNNING.removeprefix("probe-")) as process:
        alone_mb = process.memory_mb(procfs.RESIDENT)
        job = adapter.keep_pods(adapter.build_job(FINISHED, SERVERS, WORKERS))
        client.create(adapter.path, job)
        site.watch.wait([FINISHED], "Running", START_SECONDS, site.report)
        end_workers(site, FINISHED)
        site.watch.wait([FINISHED], COMPLETED, START_SECONDS, site.report)
        site.settle()
        samples = [Copies(capture(client, adapter, name)) for name in (FINISHED, RUNNING)]
    return samples, alone_mb


def _copies(wanted: Iterable[tuple[Copies, list[str]]]) -> Iterator[tuple[str, bytes]]:
    named = ((sample, name) for sample, names in wanted for name in names)
    for number, (sample, name) in enumerate(named):
        yield from sample.make(number, name)
