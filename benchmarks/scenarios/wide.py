"""Wide: how fast a job with one server and many workers gets its objects, and their sizes."""

import json
from dataclasses import dataclass

from benchmarks.adapter import NAMESPACE
from benchmarks.family import capture
from benchmarks.load import start_jobs, wait_running, working_operator
from benchmarks.operators import Operator
from benchmarks.site import PODS, Site, wait_for
from localcluster.client.rest import Raw
from localcluster.machine import clock

TIMEOUT_SECONDS = 300.0
OBJECT_BYTES = 1_500_000
"""A little less than etcd's limit of a request, 1.5 MiB by default."""
VARIABLE_BYTES = 131_000
"""A little less than the kernel's limit for a variable with its name, 128 KiB."""


@dataclass(frozen=True)
class Wide:
    """Seconds from the job's creation, and bytes of what the operator wrote.

    `config_map_seconds` is None if there was no ConfigMap within 30 s of the last pod.
    """

    workers: int
    created_seconds: float
    config_map_seconds: float | None
    status_bytes: int
    config_map_bytes: int
    variable_bytes: int

    @property
    def is_within_limits(self) -> bool:
        """Whether etcd accepts the status and the ConfigMaps, and the kernel the variables."""
        objects = max(self.status_bytes, self.config_map_bytes)
        return objects < OBJECT_BYTES and self.variable_bytes < VARIABLE_BYTES


def measure_wide(site: Site, operator: Operator, workers: int, name: str) -> Wide:
    """Create one job of a server and `workers` workers, and wait until it runs. The job stays."""
    site.report(f"wide: one job of 1 + {workers}")
    with working_operator(site, operator, name) as running:
        wanted = _count_pods(site) + workers + 1
        asked = start_jobs(site, [name], 1, workers)[name]
        wait_for(
            f"there are {wanted} pods", lambda: _count_pods(site) >= wanted, TIMEOUT_SECONDS, 0.1
        )
        created = clock.monotonic() - asked
        config_map = _wait_for_config_map(site, name, asked)
        wait_running(site, running, [name], TIMEOUT_SECONDS)
        site.settle()
    family = capture(site.client, site.adapter, name)
    maps = family.children["configmaps"]
    return Wide(
        workers=workers,
        created_seconds=created,
        config_map_seconds=config_map,
        status_bytes=len(json.dumps(family.job.get("status") or {})),
        config_map_bytes=max((len(json.dumps(each)) for each in maps), default=0),
        variable_bytes=max((_longest_value(each) for each in maps), default=0),
    )


def _count_pods(site: Site) -> int:
    """The number of pods in the namespace, without reading them all."""
    page = site.client.get(PODS, {"limit": 1})
    return len(page["items"]) + int(page["metadata"].get("remainingItemCount") or 0)


def _wait_for_config_map(site: Site, job: str, asked: float) -> float | None:
    """Wait for the ConfigMap; None if there is none after 30 s."""

    def is_there() -> bool:
        maps = site.client.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps")["items"]
        return any(each["metadata"]["name"].startswith(job) for each in maps)

    was_made = clock.wait_until(is_there, 30.0, poll_seconds=0.1)
    return clock.monotonic() - asked if was_made else None


def _longest_value(config_map: Raw) -> int:
    data: dict[str, str] = config_map.get("data") or {}
    return max((len(name) + len(value) for name, value in data.items()), default=0)
