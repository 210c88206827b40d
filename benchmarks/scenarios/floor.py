"""The floor: a bare loop that creates what the operator creates, without an operator.

Each of 16 threads takes a job, creates the job and each of its children one after the other, and
writes its status once. That is a start for which nothing has to be watched or decided.
"""

import json
from dataclasses import dataclass

from benchmarks.adapter import DEFAULT_WRITES, WriteOptions
from benchmarks.family import Family, Requests
from benchmarks.load import build_bodies, cpu_ms_per_job, in_threads, job_names
from benchmarks.site import PODS, Site, wait_for
from localcluster.machine import clock

RUN_SECONDS = 120.0

NOT_RUNNING = {"fieldSelector": "status.phase!=Running", "limit": 1}


@dataclass(frozen=True)
class Floor:
    """`seconds` passed until the last write was answered, `running_seconds` until all pods ran.

    `cpu_ms_per_job` is the CPU of each process until all pods ran.
    """

    jobs: int
    seconds: float
    running_seconds: float
    cpu_ms_per_job: dict[str, float]

    @property
    def jobs_per_second(self) -> float:
        """The rate until the last write was answered."""
        return self.jobs / self.seconds

    @property
    def running_jobs_per_second(self) -> float:
        """The rate until the last of the pods ran."""
        return self.jobs / self.running_seconds


def measure_floor(
    site: Site, family: Family, jobs: int, prefix: str, writes: WriteOptions = DEFAULT_WRITES
) -> Floor:
    """Create this number of jobs with copies of the family's children."""
    site.report(f"floor: {jobs} jobs by a bare loop")
    client, requests = site.client, Requests(family, writes)
    path, bodies = site.adapter.path, build_bodies(site, job_names(prefix, jobs))

    def do_pods_run() -> bool:
        return not client.get(PODS, NOT_RUNNING)["items"]

    def start(name: str) -> None:
        answer = json.loads(client.send("POST", path, bodies[name]).body)
        uid = answer["metadata"]["uid"]
        for write in requests.children(name, uid):
            client.send(*write)
        client.send(*requests.status(name, uid))

    before = site.cpu()
    started = clock.monotonic()
    in_threads(start, bodies)
    seconds = clock.monotonic() - started
    wait_for("the floor's pods run", do_pods_run, RUN_SECONDS)
    return Floor(
        jobs=jobs,
        seconds=seconds,
        running_seconds=clock.monotonic() - started,
        cpu_ms_per_job=cpu_ms_per_job(before, site.cpu(), jobs),
    )
