"""Which jobs are woken by each kind of news."""

import copy
from typing import Any

import pytest

from api.ownership import Key
from controller.cache.event_handler import EventHandler
from controller.cache.store import Store
from controller.client.resources import (
    CONFIG_MAP,
    PADDLE_JOB,
    POD,
    SERVICE,
    VOLCANO_POD_GROUP,
    Resource,
)
from tests.unit.controller.stored import a_job, a_pod, manifest, put

JOB = a_job()
OWNER = Key("ns", "train")


class Listener:
    """Event handlers on one store, and whom they woke since the last look."""

    def __init__(self) -> None:
        resources = (PADDLE_JOB, POD, SERVICE, CONFIG_MAP, VOLCANO_POD_GROUP)
        self.store = Store(resources)
        self.woken: list[Key] = []
        self.handlers = {r: EventHandler(r, self.store, self.add) for r in resources}
        put(self.store, PADDLE_JOB, JOB)

    def add(self, key: Key) -> None:
        self.woken.append(key)

    def hear(self, resource: Resource, obj: dict[str, Any]) -> list[Key]:
        """Who is woken by one event."""
        self.woken.clear()
        self.handlers[resource].put(copy.deepcopy(obj))
        return self.woken

    def hear_list(self, resource: Resource, *objects: dict[str, Any]) -> list[Key]:
        """Who is woken by a list."""
        self.woken.clear()
        handler = self.handlers[resource]
        handler.replace([handler.pack(copy.deepcopy(obj)) for obj in objects], "9")
        return self.woken


@pytest.fixture
def listener() -> Listener:
    return Listener()


def pod(name: str, **status: Any) -> dict[str, Any]:
    return a_pod(name, JOB) | {"status": {"phase": "Pending"} | status}


def a_child(kind: str) -> dict[str, Any]:
    return manifest("a", kind, JOB) | {"metadata": a_pod("a", JOB)["metadata"]}


def job(generation: int = 1, phase: str = "Running", **metadata: Any) -> dict[str, Any]:
    made = a_job(version=9, status={"phase": phase})
    made["metadata"] |= {"generation": generation} | metadata
    return made


CHILDREN = {
    "a new pod": (POD, pod("a")),
    "a pod that runs": (POD, pod("a", phase="Running", podIP="10.0.0.1")),
    "a Service": (SERVICE, a_child("Service")),
    "a ConfigMap": (CONFIG_MAP, a_child("ConfigMap")),
    "the user's PodGroup": (VOLCANO_POD_GROUP, a_pod("train")),
}


@pytest.mark.parametrize(("resource", "obj"), CHILDREN.values(), ids=CHILDREN.keys())
def test_news_and_deletions_of_children_wake_their_job(listener, resource, obj):
    assert listener.hear(resource, obj) == [OWNER]
    assert listener.hear(resource, obj) == [OWNER]
    listener.handlers[resource].remove(copy.deepcopy(obj))
    assert listener.woken == [OWNER, OWNER]


def test_a_child_that_changes_hands_wakes_both(listener):
    other = a_job("other", uid="job-2")
    put(listener.store, PADDLE_JOB, other)
    listener.hear(POD, pod("a"))
    listener.woken.clear()
    listener.handlers[POD].put(a_pod("a", other, 11))
    assert listener.woken == [OWNER, Key("ns", "other")]


def test_children_of_a_job_that_is_not_there_wake_nobody(listener):
    orphan = a_pod("orphan", a_job("gone", uid="job-9"))
    handler = listener.handlers[POD]
    handler.put(copy.deepcopy(orphan))
    handler.remove(copy.deepcopy(orphan))
    handler.replace([handler.pack(orphan)], "9")
    assert listener.woken == []


def test_a_job_that_vanishes_is_woken(listener):
    listener.handlers[PADDLE_JOB].remove(copy.deepcopy(JOB))
    assert listener.woken == [OWNER]
    assert not listener.store.entry(PADDLE_JOB, OWNER)


def test_a_list_wakes_for_what_vanished_and_not_for_what_it_knows(listener):
    listener.hear_list(POD, pod("a"), pod("b"))
    assert listener.hear_list(POD, pod("a")) == [OWNER]
    assert listener.hear_list(POD, pod("a")) == []


def test_what_is_kept_of_an_object_is_trimmed(listener):
    listener.hear(POD, a_pod("a", JOB, managedFields=[{}]))
    assert "managedFields" not in listener.store.get(POD, Key("ns", "a"))["metadata"]


def test_a_list_wakes_those_who_await_their_writes(listener):
    """What they made may have gone since, and then no list shows it."""
    handler = EventHandler(
        CONFIG_MAP,
        listener.store,
        listener.woken.append,
        awaiting=lambda resource: [OWNER] if resource is CONFIG_MAP else [],
    )
    handler.replace([], "12")
    assert listener.woken == [OWNER]
