"""What users do: create many jobs at once; and what nodes report: workers that end."""

import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from benchmarks.adapter import Adapter
from benchmarks.family import NAMESPACE
from benchmarks.rest import MERGE_PATCH, Raw, Rest
from localcluster import clock

THREADS = 16
PAGE = 500
Item = TypeVar("Item")


def in_threads(do: Callable[[Item], None], items: Iterable[Item]) -> None:
    """Do it to each item, in 16 threads; raises the first error."""
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in pool.map(do, items):
            pass


def create_jobs(rest: Rest, adapter: Adapter, jobs: Sequence[Raw]) -> dict[str, float]:
    """Create them as fast as can be; when each was asked for, on the monotonic clock."""
    path = adapter.path(NAMESPACE)
    asked: dict[str, float] = {}

    def create(job: tuple[str, bytes]) -> None:
        asked[job[0]] = clock.monotonic()
        rest.call("POST", path, job[1])

    in_threads(create, [(job["metadata"]["name"], json.dumps(job).encode()) for job in jobs])
    return asked


def end_workers(rest: Rest, adapter: Adapter, job: str = "") -> int:
    """Report every running worker, or those of one job, as ended well; how many there were."""
    workers = [
        pod
        for pod in list_all(rest, _PODS)
        if adapter.is_worker(pod) and pod["metadata"]["name"].startswith(job)
    ]

    def end(pod: Raw) -> None:
        path = f"{_PODS}/{pod['metadata']['name']}/status"
        rest.call("PATCH", path, json.dumps(ended_status(pod)).encode(), MERGE_PATCH)

    in_threads(end, [pod for pod in workers if pod["status"].get("phase") == "Running"])
    return len(workers)


def ended_status(pod: Raw) -> Raw:
    """What a kubelet reports of a pod whose containers have exited with 0."""
    terminated = {"terminated": {"exitCode": 0, "reason": "Completed"}}
    statuses = [
        {**each, "ready": False, "state": terminated}
        for each in pod["status"].get("containerStatuses", [])
    ]
    return {"status": {"phase": "Succeeded", "containerStatuses": statuses}}


def list_all(rest: Rest, path: str) -> list[Raw]:
    """Every object of a collection, page by page."""
    items: list[Raw] = []
    token = ""
    while True:
        page = rest.get(f"{path}?limit={PAGE}" + (f"&continue={token}" if token else ""))
        items += page["items"]
        token = page["metadata"].get("continue", "")
        if not token:
            return items


def count_pods(rest: Rest) -> int:
    """How many pods there are, without reading them all."""
    page = rest.get(f"{_PODS}?limit=1")
    return len(page["items"]) + int(page["metadata"].get("remainingItemCount") or 0)


_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
