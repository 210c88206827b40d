"""--kueue against an API server: what is asked for with the flag, and what is missing."""

import pytest

from tests.memory.builders import a_job
from tests.unit.controller.fakes import eventually, reply, status
from tests.unit.controller.memory_api import MemoryApi
from tests.unit.controller.stored import a_lease
from tests.unit.controller.test_manager import ELECTED, JOBS, LEASE, PODS, start

__all__ = ["start"]
WORKLOADS = f"{JOBS.rpartition('/')[0]}/workloads".replace(
    "batch.paddlepaddle.org/v1", "kueue.x-k8s.io/v1beta2"
)


@pytest.fixture
def api(api) -> MemoryApi:
    labels = {"kueue.x-k8s.io/queue-name": "team"}
    api.put(f"{JOBS}/train", a_job().with_workers(1).with_metadata(labels=labels).build())
    return api


def test_without_the_flag_nothing_of_kueue_is_asked_for(api, start, server):
    start()
    eventually(lambda: f"{PODS}/train-worker-0" in api.objects)
    eventually(lambda: "status" in api.objects[f"{JOBS}/train"])
    assert not [seen.path for seen in server.seen if "kueue" in seen.path]
    assert not [seen.path for seen in server.seen if "priorityclasses" in seen.path]


def test_job_names_the_missing_right_and_goes_on_once_it_is_granted(api, start):
    refused = reply(403, status(403, "Forbidden", "workloads is forbidden"))
    api.fault = lambda _, path: refused if path == WORKLOADS else None
    start("--kueue")

    def said(words: str) -> bool:
        conditions = (api.objects[f"{JOBS}/train"].get("status") or {}).get("conditions") or ()
        return any(words in each["message"] for each in conditions)

    eventually(lambda: said("the operator has no right to list and watch workloads"))
    assert not said("not installed")
    api.fault = lambda *_: None
    eventually(lambda: WORKLOADS in api.paths("POST"))
    assert not [path for path in api.objects if path.startswith(f"{PODS}/")]


def test_a_new_leader_lists_what_decides_on_quota_anew(api, start, server):
    """A job whose pods are not shown yet would give back the quota that they use."""
    api.put(LEASE, a_lease("another"))
    standby = start("--kueue", *ELECTED)
    eventually(standby.is_ready)

    def lists(collection: str) -> int:
        asked = [seen.path.partition("?") for seen in server.seen]
        return sum(path == collection and "watch=true" not in query for path, _, query in asked)

    before = {collection: lists(collection) for collection in (JOBS, WORKLOADS, PODS)}
    api.put(LEASE, a_lease(""))
    eventually(lambda: all(lists(each) == count + 1 for each, count in before.items()))
