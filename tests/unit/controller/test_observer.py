"""What a pass is shown besides its family: what this process remembers, and what others hold."""

from typing import Any

import pytest

from api.ownership import Key
from controller.cache.store import Store
from controller.cache.trim import trim
from controller.client.resources import GANG_POD_GROUP, NODE, PADDLE_JOB, POD, VOLCANO_POD_GROUP
from controller.work.memory import JobMemory
from controller.work.observer import Observer
from controller.work.result import Result
from kube.errors import NotFound
from reconcile.model.plan import Plan, Refusal
from tests.unit.controller.stored import a_job, a_pod, put

KEY = Key("ns", "train")
QUOTA = Refusal("Pod", "train-worker-0", "Forbidden", "exceeded quota", 403)


class Looks:
    """An observer of one job on an API server that serves what the test says."""

    def __init__(self, clock) -> None:
        self.store = Store((PADDLE_JOB, POD, NODE))
        put(self.store, PADDLE_JOB, a_job())
        self.memory = JobMemory(self.store, clock)
        self.served = {PADDLE_JOB}
        self.backlogged: set[str] = set()
        self.there: dict[str, Any] = {}
        self.asked: list[str] = []
        self.observer = Observer(
            self.store,
            self.memory,
            lambda kind, _: kind in self.served,
            self.get,
            lambda namespace: namespace in self.backlogged,
        )

    def get(self, path: str) -> dict[str, Any]:
        self.asked.append(path)
        if path not in self.there:
            raise NotFound(path)
        return self.there[path]

    def look(self):
        family = self.store.family(KEY)
        assert family is not None
        return self.observer.observe(KEY, family)


@pytest.fixture
def looks(clock) -> Looks:
    return Looks(clock)


def test_what_is_remembered_of_the_job_is_shown(looks, clock):
    looks.memory.learn(KEY, "job-1", Plan(), Result(refusals=[QUOTA]))
    looks.memory.note_status_written(KEY, "job-1")
    assert looks.look().refusals == (QUOTA,)
    assert looks.look().status_written_at == clock.now()


def test_which_pod_groups_are_served_is_asked_at_every_pass(looks):
    assert not looks.look().volcano_served
    looks.served |= {VOLCANO_POD_GROUP}
    assert looks.look().volcano_served
    assert not looks.look().gang_served
    looks.served |= {GANG_POD_GROUP}
    assert looks.look().gang_served


def test_nodes_of_pods_that_go_are_shown_where_they_may_be_read(looks):
    """Those alone: thousands of nodes took each pass a tenth of a second."""
    gone: dict[str, Any] = {"deletionTimestamp": "2026-01-02T03:04:05Z"}
    for name, metadata in (("stays", {}), ("goes", gone), ("on-lost", gone)):
        pod = a_pod(name, a_job(), **metadata)
        put(looks.store, POD, pod | {"spec": {"nodeName": f"node-of-{name}"}})
    put(looks.store, POD, a_pod("unplaced", a_job(), **gone) | {"spec": {}})
    for name in ("node-of-stays", "node-of-goes", "another"):
        put(looks.store, NODE, a_node(name, version=5))
    assert looks.look().nodes is None
    looks.served |= {NODE}
    assert set(looks.look().nodes) == {"node-of-goes"}
    put(looks.store, NODE, a_node("node-of-on-lost", version=6))
    assert set(looks.look().nodes) == {"node-of-goes", "node-of-on-lost"}


def test_a_backlog_is_told(looks):
    assert not looks.look().is_backlogged
    looks.backlogged = {"ns"}
    assert looks.look().is_backlogged


def a_node(name: str, version: int, **allocatable: str):
    metadata = {"name": name, "uid": f"uid-of-{name}", "resourceVersion": str(version)}
    return {"metadata": metadata, "status": {"allocatable": allocatable}}


def test_most_devices_of_a_node_are_shown_while_a_pod_finds_no_room(looks):
    for name, gpus in (("small", "4"), ("large", "16"), ("cpus", None)):
        gpu = {"nvidia.com/gpu": gpus} if gpus else {}
        put(looks.store, NODE, trim(NODE, a_node(name, version=5, cpu="8", **gpu)))
    refused = {"type": "PodScheduled", "status": "False"}
    put(looks.store, POD, a_pod("train-worker-0", a_job()) | {"status": {"conditions": [refused]}})
    assert looks.look().most_devices is None
    looks.served |= {NODE}
    assert looks.look().most_devices == {"nvidia.com/gpu": 16}
    put(looks.store, POD, a_pod("train-worker-0", a_job(), version=9))
    assert looks.look().most_devices is None


def test_pods_of_another_operator_are_asked_for_while_no_watch_shows_them(looks):
    job = a_job(status={"phase": "Running"}, spec={"worker": {"replicas": 2, "template": {}}})
    put(looks.store, PADDLE_JOB, job)
    theirs = {"paddle-res-name": "train-worker-1", "paddle-res-type": "worker"}
    there = a_pod("train-worker-1", job, labels=theirs, annotations={"big": "x" * 9})
    looks.there["/api/v1/namespaces/ns/pods/train-worker-1"] = there
    (found,) = looks.look().unseen_pods
    assert (found["metadata"]["uid"], found["kind"]) == ("uid-of-train-worker-1", "Pod")
    assert "annotations" not in found["metadata"]
    assert len(looks.asked) == 2
    put(looks.store, POD, a_pod("train-worker-1", job, version=3))
    assert looks.look().unseen_pods == ()
    assert len(looks.asked) == 3


def test_jobs_of_ours_are_not_asked_for(looks):
    spec = {"worker": {"replicas": 2, "template": {}}}
    put(looks.store, PADDLE_JOB, a_job(status={"phase": "Running", "attempt": 1}, spec=spec))
    assert looks.look().unseen_pods == ()
    assert looks.asked == []
