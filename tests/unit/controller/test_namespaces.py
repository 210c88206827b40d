"""An operator of listed namespaces: it works in each, and none of them holds up the others."""

import threading

import pytest

from tests.memory.builders import a_job
from tests.unit.controller.fakes import eventually, reply, status
from tests.unit.controller.memory_api import MemoryApi
from tests.unit.controller.test_manager import start

__all__ = ["start"]
TEAMS = ("team-a", "team-b")
SCOPE = "--namespace=team-a,team-b"
FORBIDDEN = reply(403, status(403, "Forbidden", "pods is forbidden"))


def jobs(namespace: str) -> str:
    return f"/apis/batch.paddlepaddle.org/v1/namespaces/{namespace}/paddlejobs"


def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


@pytest.fixture
def api(api) -> MemoryApi:
    for namespace in TEAMS:
        submit(api, namespace, "train")
    return api


def has_pod(api: MemoryApi, namespace: str, job: str = "train") -> bool:
    return f"{pods(namespace)}/{job}-worker-0" in api.objects


def submit(api: MemoryApi, namespace: str, name: str) -> None:
    job = a_job(name, uid=f"uid-of-{namespace}-{name}").with_metadata(namespace=namespace)
    api.put(f"{jobs(namespace)}/{name}", job.with_workers(1).build())


def forbid(api: MemoryApi, *collections: str) -> threading.Event:
    """Refuse what is under these paths until the event is set."""
    is_over = threading.Event()

    def answer(_method: str, path: str):
        return FORBIDDEN if path in collections and not is_over.is_set() else None

    api.fault = answer
    return is_over


@pytest.mark.parametrize("collection", [jobs, pods], ids=["jobs", "pods"])
def test_one_that_cannot_be_read_holds_up_no_other(api, start, collection):
    forbid(api, collection("team-b"))
    operator = start(SCOPE)
    eventually(lambda: has_pod(api, "team-a"))
    assert not has_pod(api, "team-b")
    assert operator.ask("/healthz")[0] == 200


def test_no_job_is_looked_at_where_its_pods_cannot_be(api, start):
    is_over = forbid(api, pods("team-b"))
    start(SCOPE)
    eventually(lambda: has_pod(api, "team-a"))
    # Namespaces take turns: those of team-b would have had theirs before these are done.
    for late in ("first", "second"):
        submit(api, "team-a", late)
        eventually(lambda late=late: has_pod(api, "team-a", late))
    written = [path for _, path, _ in api.writes]
    assert not [path for path in written if "team-b" in path]
    is_over.set()
    eventually(lambda: has_pod(api, "team-b"))


def test_it_is_ready_again_when_the_namespace_appears(api, start):
    is_over = forbid(api, jobs("team-b"), pods("team-b"))
    operator = start(SCOPE)
    eventually(lambda: has_pod(api, "team-a"))
    is_over.set()
    eventually(operator.is_ready)
    eventually(lambda: has_pod(api, "team-b"))
