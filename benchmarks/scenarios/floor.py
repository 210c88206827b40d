"""The floor: a bare loop that creates what the operator creates, with no operator.

Each of 16 threads takes a job and makes, one after the other, the job, its pods, its ConfigMap and
one write of its status: what a start costs when nothing has to be watched or decided.
"""

import json
from dataclasses import dataclass

from benchmarks.adapter import PLAIN, Manner
from benchmarks.family import NAMESPACE, Family, Requests
from benchmarks.load import in_threads
from benchmarks.scenarios.common import SERVERS, WORKERS, cpu_ms_per_job, elapsed, job_names
from benchmarks.site import Site
from localcluster import clock

RUN_SECONDS = 120.0


@dataclass(frozen=True)
class Floor:
    """`seconds` until the last write was answered, `running_seconds` until all pods ran.

    `cpu_ms_per_job` is each process's until then.
    """

    jobs: int
    writes_per_job: int
    seconds: float
    running_seconds: float
    cpu_ms_per_job: dict[str, float]

    @property
    def jobs_per_second(self) -> float:
        """The rate to compare with."""
        return self.jobs / self.seconds


def measure_floor(
    site: Site, family: Family, jobs: int, prefix: str, manner: Manner = PLAIN
) -> Floor:
    """Create so many jobs with all that belongs to them."""
    site.report(f"floor: {jobs} jobs by a bare loop")
    rest, adapter, requests = site.rest, site.adapter, Requests(family, manner)
    names = job_names(prefix, jobs)
    bodies = {
        name: json.dumps(adapter.build_job(name, SERVERS, WORKERS)).encode() for name in names
    }

    def start(name: str) -> None:
        answer = json.loads(rest.call("POST", adapter.path(NAMESPACE), bodies[name]))
        uid = answer["metadata"]["uid"]
        for write in requests.children(name, uid):
            write.send(rest)
        requests.status(name, uid).send(rest)

    before = site.cpu()
    started = clock.monotonic()
    in_threads(start, names)
    seconds = elapsed(started)
    _wait_for_pods(site)
    return Floor(
        jobs=jobs,
        writes_per_job=family.size + 1,
        seconds=seconds,
        running_seconds=elapsed(started),
        cpu_ms_per_job=cpu_ms_per_job(before, site.cpu(), jobs),
    )


def _wait_for_pods(site: Site) -> None:
    path = f"/api/v1/namespaces/{NAMESPACE}/pods?fieldSelector=status.phase!=Running&limit=1"
    if not clock.wait_until(lambda: not site.rest.get(path)["items"], RUN_SECONDS):
        raise TimeoutError("the floor's pods do not run")
