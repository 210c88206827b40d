"""One wide job: one server and many workers, until all pods exist and until they can start."""

import json
from dataclasses import dataclass

from benchmarks.family import NAMESPACE, capture
from benchmarks.load import count_pods, create_jobs
from benchmarks.operators import Operator
from benchmarks.rest import Raw
from benchmarks.scenarios.common import elapsed, wait_running, working_operator
from benchmarks.site import Site
from localcluster import clock

TIMEOUT_SECONDS = 300.0
OBJECT_BYTES = 1_500_000
"""What etcd takes in one request."""
VARIABLE_BYTES = 131_000
"""What the kernel takes in one environment variable, with its name."""


@dataclass(frozen=True)
class Wide:
    """Seconds from the job's creation; bytes of what the operator wrote."""

    workers: int
    created_seconds: float
    config_map_seconds: float | None
    running_seconds: float
    status_bytes: int
    config_map_bytes: int
    variable_bytes: int

    @property
    def is_within_limits(self) -> bool:
        """Whether everything written stays below what its reader takes."""
        objects = max(self.status_bytes, self.config_map_bytes)
        return objects < OBJECT_BYTES and self.variable_bytes < VARIABLE_BYTES


def measure_wide(site: Site, operator: Operator, workers: int, name: str) -> Wide:
    """Create one job of 1 + `workers`."""
    site.report(f"wide: one job of 1 + {workers}")
    with working_operator(site, operator, name) as running:
        already = count_pods(site.rest)
        manifest = site.adapter.build_job(name, 1, workers)
        asked = create_jobs(site.rest, site.adapter, [manifest])[name]
        created = _wait_for_pods(site, already + workers + 1, asked)
        config_map = _wait_for_config_map(site, name, asked)
        ran = wait_running(site, running, [name], TIMEOUT_SECONDS)[0]
        site.settle()
    family = capture(site.rest, site.adapter, name)
    maps = family.children["configmaps"]
    return Wide(
        workers=workers,
        created_seconds=created,
        config_map_seconds=config_map,
        running_seconds=ran - asked,
        status_bytes=len(json.dumps(family.job.get("status") or {})),
        config_map_bytes=max((len(json.dumps(each)) for each in maps), default=0),
        variable_bytes=max((_longest_value(each) for each in maps), default=0),
    )


def _wait_for_pods(site: Site, count: int, asked: float) -> float:
    def are_all_there() -> bool:
        return count_pods(site.rest) >= count

    if not clock.wait_until(are_all_there, TIMEOUT_SECONDS, poll_seconds=0.1):
        raise TimeoutError(f"there are not {count} pods")
    return elapsed(asked)


def _wait_for_config_map(site: Site, job: str, asked: float) -> float | None:
    """None where the operator makes none."""
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps"

    def is_there() -> bool:
        names = [each["metadata"]["name"] for each in site.rest.get(path)["items"]]
        return any(name.startswith(job) for name in names)

    return elapsed(asked) if clock.wait_until(is_there, 30.0, poll_seconds=0.1) else None


def _longest_value(config_map: Raw) -> int:
    data: dict[str, str] = config_map.get("data") or {}
    return max((len(name) + len(value) for name, value in data.items()), default=0)
