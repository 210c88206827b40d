"""What each write of a start costs the API server, repeated alone: below this no operator comes.

No operator runs, and no scheduler knows the pods: what follows a write is not in its cost.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.family import NAMESPACE, Family, Requests
from benchmarks.rest import MERGE_PATCH
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


Call = tuple[str, str, bytes, str]
"""Method, path, body and content type."""


def measure_costs(site: Site, family: Family) -> tuple[Cost, ...]:
    """Repeat each kind of write so often, one after the other."""
    site.report(f"costs: each write {REPEATS} times")
    rest, adapter = site.rest, site.adapter
    path = adapter.path(NAMESPACE)
    calls: list[Call] = []
    for name in job_names("costs", REPEATS):
        body = json.dumps(adapter.build_job(name, SERVERS, WORKERS)).encode()
        calls.append(("POST", path, body, "application/json"))
    costs = [Cost(f"POST {adapter.resource}", 1, _measure(site, calls))]
    uids = {
        each["metadata"]["name"]: str(each["metadata"]["uid"]) for each in rest.get(path)["items"]
    }
    for resource, count, writes in _children(family, uids):
        costs.append(Cost(f"POST {resource}", count, _measure(site, writes)))
    requests = Requests(family)
    calls = [
        (
            "PATCH",
            f"{adapter.path(NAMESPACE, name)}/status",
            requests.status(name, uid),
            MERGE_PATCH,
        )
        for name, uid in uids.items()
    ]
    costs.append(Cost(f"PATCH {adapter.resource}/status", 1, _measure(site, calls)))
    return tuple(costs)


def _children(family: Family, uids: dict[str, str]) -> Iterator[tuple[str, int, list[Call]]]:
    """Each resource, how many a job has, and the creation of one for each job."""
    requests = Requests(family)
    for resource, objects in family.children.items():
        calls: list[Call] = []
        for name, uid in uids.items():
            made = [each for each in requests.children(name, uid) if each[0].endswith(resource)]
            for path, body in made[:1]:
                calls.append(("POST", path, _unscheduled(body), "application/json"))
        if calls:
            yield resource, len(objects), calls


def _unscheduled(body: bytes) -> bytes:
    obj = json.loads(body)
    if obj["kind"] == "Pod":
        obj["spec"]["schedulerName"] = NOBODY
    return json.dumps(obj).encode()


def _measure(site: Site, calls: list[Call]) -> float:
    before = site.server_cpu()
    for method, path, body, content_type in calls:
        site.rest.call(method, path, body, content_type)
    return (site.server_cpu() - before) * 1000 / len(calls)
