"""Measures the API server's CPU for each write of a start. The same writes cannot cost less.

A job is created with a user's write options, and its children with the operator's. No operator
runs, and no scheduler handles the pods, so the cost is that of the write alone.
"""

from dataclasses import dataclass, replace

from benchmarks.family import Family, Requests, Write
from benchmarks.load import build_bodies, job_names
from benchmarks.site import Site
from localcluster.client.rest import Raw

REPEATS = 100
NOBODY = "nobody"


@dataclass(frozen=True)
class Cost:
    """A kind of write: how many a start needs, and the API server's CPU for one."""

    write: str
    count: int
    server_cpu_ms: float


def measure_costs(site: Site, family: Family) -> tuple[Cost, ...]:
    """Repeat each kind of write REPEATS times, one after the other."""
    site.report(f"costs: each write {REPEATS} times")
    jobs, path = site.adapter.resource, site.adapter.path
    bodies = build_bodies(site, job_names("costs", REPEATS))
    creates = [Write("POST", path, body) for body in bodies.values()]
    costs = [_measure(site, f"POST {jobs}", 1, creates)]
    uids = {
        each["metadata"]["name"]: str(each["metadata"]["uid"])
        for each in site.client.get(path)["items"]
    }
    firsts = {kind: _unscheduled(objs[0]) for kind, objs in family.children.items() if objs}
    one_each = replace(family, children={kind: [obj] for kind, obj in firsts.items()})
    requests = Requests(one_each, site.adapter.writes)
    of_all_jobs = [requests.children(name, uid) for name, uid in uids.items()]
    for kind, *writes in zip(firsts, *of_all_jobs, strict=True):
        costs.append(_measure(site, f"POST {kind}", len(family.children[kind]), writes))
    statuses = [requests.status(name, uid) for name, uid in uids.items()]
    return (*costs, _measure(site, f"PATCH {jobs}/status", 1, statuses))


def _unscheduled(obj: Raw) -> Raw:
    is_pod = obj["kind"] == "Pod"
    return obj | {"spec": obj["spec"] | {"schedulerName": NOBODY}} if is_pod else obj


def _measure(site: Site, title: str, count: int, writes: list[Write]) -> Cost:
    before = site.server_cpu()
    for write in writes:
        site.client.send(*write)
    return Cost(title, count, (site.server_cpu() - before) * 1000 / len(writes))
