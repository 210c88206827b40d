"""What each write of a start costs the API server, repeated alone: below this no operator comes.

The job is created as a user would, the rest is written in the operator's manner. No operator runs,
and no scheduler knows the pods: what follows a write is not in its cost.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from benchmarks.family import NAMESPACE, Family, Requests, Write
from benchmarks.rest import JSON
from benchmarks.scenarios.common import SERVERS, WORKERS, job_names
from benchmarks.site import Site

REPEATS = 100
NOBODY = "nobody"


@dataclass(frozen=True)
class Cost:
    """A write, how many of it a start takes, and the CPU of the API server that one takes."""

    write: str
    count: int
    server_cpu_ms: float


def measure_costs(site: Site, family: Family) -> tuple[Cost, ...]:
    """Repeat each kind of write so often, one after the other."""
    site.report(f"costs: each write {REPEATS} times")
    rest, adapter = site.rest, site.adapter
    path = adapter.path(NAMESPACE)
    writes: list[Write] = []
    for name in job_names("costs", REPEATS):
        body = json.dumps(adapter.build_job(name, SERVERS, WORKERS)).encode()
        writes.append(Write("POST", path, body, JSON))
    costs = [Cost(f"POST {adapter.resource}", 1, _measure(site, writes))]
    uids = {
        each["metadata"]["name"]: str(each["metadata"]["uid"]) for each in rest.get(path)["items"]
    }
    requests = Requests(family, adapter.manner)
    for resource, count, writes in _children(family, requests, uids):
        costs.append(Cost(f"POST {resource}", count, _measure(site, writes)))
    writes = [requests.status(name, uid) for name, uid in uids.items()]
    costs.append(Cost(f"PATCH {adapter.resource}/status", 1, _measure(site, writes)))
    return tuple(costs)


def _children(
    family: Family, requests: Requests, uids: dict[str, str]
) -> Iterator[tuple[str, int, list[Write]]]:
    """Each resource, how many a job has, and the creation of one for each job."""
    for resource, objects in family.children.items():
        writes: list[Write] = []
        for name, uid in uids.items():
            made = [each for each in requests.children(name, uid) if _is_of(each, resource)]
            writes += [replace(each, body=_unscheduled(each.body)) for each in made[:1]]
        if writes:
            yield resource, len(objects), writes


def _is_of(write: Write, resource: str) -> bool:
    return urlsplit(write.path).path.endswith(f"/{resource}")


def _unscheduled(body: bytes) -> bytes:
    obj = json.loads(body)
    if obj["kind"] == "Pod":
        obj["spec"]["schedulerName"] = NOBODY
    return json.dumps(obj).encode()


def _measure(site: Site, writes: list[Write]) -> float:
    before = site.server_cpu()
    for write in writes:
        write.send(site.rest)
    return (site.server_cpu() - before) * 1000 / len(writes)
