"""Which news wakes a job at once, and which waits for the next pass."""

import copy
from typing import Any

import pytest

from controller.informer import Informer
from controller.resources import (
    CONFIG_MAP,
    PADDLE_JOB,
    POD,
    SERVICE,
    VOLCANO_POD_GROUP,
    Resource,
)
from controller.store import Key, Store
from tests.unit.controller.builders import a_job, a_pod, manifest, put

JOB = a_job()
STARTED = {"name": "paddle", "state": {"running": {"startedAt": "2026-01-02T03:04:05Z"}}}


class Listener:
    """Informers on one store, and what they asked for since the last look."""

    def __init__(self) -> None:
        resources = (PADDLE_JOB, POD, SERVICE, CONFIG_MAP, VOLCANO_POD_GROUP)
        self.store = Store(resources)
        self.asked: list[str] = []
        self.informers = {resource: Informer(resource, self.store, self) for resource in resources}
        put(self.store, PADDLE_JOB, JOB)

    def add(self, _: Key) -> None:
        self.asked.append("now")

    def add_later(self, _: Key) -> None:
        self.asked.append("later")

    def add_last(self, _: Key) -> None:
        self.asked.append("last")

    def is_crowded(self) -> bool:
        return False

    def hear(self, resource: Resource, obj: dict[str, Any]) -> str:
        """Which way the job is woken by one event."""
        self.asked.clear()
        self.informers[resource].put(copy.deepcopy(obj))
        (asked,) = self.asked
        return asked


@pytest.fixture
def listener() -> Listener:
    return Listener()


def pod(name: str, **status: Any) -> dict[str, Any]:
    return a_pod(name, JOB) | {"status": {"phase": "Pending"} | status}


def a_child(kind: str) -> dict[str, Any]:
    return manifest("a", kind, JOB) | {"metadata": a_pod("a", JOB)["metadata"]}


def running(name: str, *containers: dict[str, Any]) -> dict[str, Any]:
    return pod(name, phase="Running", podIP="10.0.0.1", containerStatuses=[STARTED, *containers])


def test_a_new_pod_can_wait(listener):
    assert listener.hear(POD, pod("a")) == "later"


def test_the_last_pod_to_get_an_address_cannot(listener):
    for name in ("a", "b", "c"):
        listener.hear(POD, pod(name))
    heard = [listener.hear(POD, pod(name, podIP="10.0.0.1")) for name in ("a", "b", "c")]
    assert heard == ["later", "later", "now"]


def test_the_last_pod_to_run_cannot(listener):
    for name in ("a", "b"):
        listener.hear(POD, pod(name))
    assert [listener.hear(POD, running(name)) for name in ("a", "b")] == ["later", "now"]


def test_a_second_container_that_starts_late_may_be_the_trainer(listener):
    listener.hear(POD, running("a"))
    assert listener.hear(POD, running("a", {**STARTED, "name": "sidecar"})) == "now"


def test_a_pod_that_says_the_same_again_can_wait(listener):
    listener.hear(POD, running("a"))
    assert listener.hear(POD, running("a")) == "later"


def waiting(reason: str) -> dict[str, Any]:
    return pod(
        "a", containerStatuses=[{"name": "paddle", "state": {"waiting": {"reason": reason}}}]
    )


@pytest.mark.parametrize("reason", ["ContainerCreating", "CreateContainerConfigError"])
def test_what_every_pod_waits_for_can_wait(listener, reason):
    listener.hear(POD, pod("a"))
    assert listener.hear(POD, waiting(reason)) == "later"


TERMINATED = {"terminated": {"exitCode": 0}}
ODD = {
    "image": waiting("ErrImagePull"),
    "unschedulable": pod(
        "a", conditions=[{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
    ),
    "disrupted": pod("a", conditions=[{"type": "DisruptionTarget", "status": "True"}]),
    "failed": pod("a", phase="Failed"),
    "succeeded": pod("a", phase="Succeeded"),
    "evicted": pod("a", reason="Evicted"),
    "ended": pod("a", phase="Running", containerStatuses=[{**STARTED, "state": TERMINATED}]),
    "restarted": pod("a", phase="Running", containerStatuses=[{**STARTED, "restartCount": 1}]),
    "init failed": pod(
        "a", initContainerStatuses=[{"name": "i", "state": {"terminated": {"exitCode": 1}}}]
    ),
    "deleted": a_pod("a", JOB, deletionTimestamp="2026-01-02T03:04:05Z"),
}


@pytest.mark.parametrize("obj", ODD.values(), ids=ODD.keys())
def test_whatever_else_happens_to_a_pod_cannot_wait(listener, obj):
    listener.hear(POD, pod("a"))
    listener.hear(POD, pod("b"))
    assert listener.hear(POD, obj) == "now"


@pytest.mark.parametrize("obj", ODD.values(), ids=ODD.keys())
def test_the_way_back_from_it_cannot_either(listener, obj):
    listener.hear(POD, obj)
    assert listener.hear(POD, running("a")) == "now"


def test_another_pod_of_the_same_name_cannot_wait(listener):
    listener.hear(POD, pod("a"))
    assert listener.hear(POD, a_pod("a", JOB, uid="another")) == "now"


def test_a_pod_that_fails_holds_up_no_news_of_the_others(listener):
    listener.hear(POD, pod("a"))
    listener.hear(POD, pod("b", phase="Failed"))
    assert listener.hear(POD, running("a")) == "now"


def test_a_childs_making_can_wait_and_its_change_cannot(listener):
    config_map = a_pod("train", JOB)
    assert listener.hear(CONFIG_MAP, config_map) == "later"
    assert listener.hear(CONFIG_MAP, config_map) == "now"


def test_a_users_own_pod_group_cannot_wait(listener):
    assert listener.hear(VOLCANO_POD_GROUP, a_pod("train")) == "now"


def job(generation: int = 1, **metadata: Any) -> dict[str, Any]:
    made = a_job(status={"phase": "Running"})
    made["metadata"] |= {"generation": generation} | metadata
    return made


def test_a_status_can_wait_and_a_change_of_the_spec_cannot(listener):
    listener.hear(PADDLE_JOB, job())
    assert listener.hear(PADDLE_JOB, job()) == "later"
    assert listener.hear(PADDLE_JOB, job(generation=2)) == "now"


def test_new_jobs_namesakes_and_deletions_cannot_wait(listener):
    assert listener.hear(PADDLE_JOB, job(uid="new")) == "now"
    assert listener.hear(PADDLE_JOB, job(uid="newer")) == "now"
    gone = job(uid="newer", deletionTimestamp="2026-01-02T03:04:05Z")
    assert listener.hear(PADDLE_JOB, gone) == "now"


@pytest.mark.parametrize(
    ("phase", "asked"),
    [("", "now"), ("Running", "now"), ("Completed", "last"), ("Failed", "last")],
)
def test_a_list_wakes_ended_jobs_last(listener, phase, asked):
    job = a_job(version=9, status={"phase": phase})
    for resource, obj in ((PADDLE_JOB, job), (POD, pod("a", phase="Succeeded"))):
        informer = listener.informers[resource]
        informer.replace([informer.pack(obj)], "9")
    assert listener.asked == [asked, asked]


@pytest.mark.parametrize(
    ("resource", "obj", "asked"),
    [
        (POD, pod("a", phase="Running"), "now"),
        (POD, pod("a", phase="Succeeded"), "last"),
        (POD, pod("a", phase="Failed"), "last"),
        (SERVICE, a_child("Service"), "now"),
        (CONFIG_MAP, a_child("ConfigMap"), "last"),
        (VOLCANO_POD_GROUP, a_child("PodGroup"), "now"),
        (VOLCANO_POD_GROUP, {"metadata": {"name": "train", "namespace": "ns"}}, "last"),
    ],
    ids=[
        *("running pod", "ended pod", "failed pod", "Service", "ConfigMap", "its PodGroup"),
        "the user's PodGroup",
    ],
)
def test_an_ended_job_with_something_to_clean_up_does_not_come_last(listener, resource, obj, asked):
    put(listener.store, PADDLE_JOB, JOB | {"status": {"phase": "Completed"}})
    informer = listener.informers[resource]
    informer.replace([informer.pack(copy.deepcopy(obj))], "9")
    assert listener.asked == [asked]


def test_an_ended_job_that_is_being_deleted_does_not_come_last(listener):
    job = a_job(version=9, status={"phase": "Completed"})
    job["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    informer = listener.informers[PADDLE_JOB]
    informer.replace([informer.pack(job)], "9")
    assert listener.asked == ["now"]


def test_a_job_made_again_under_the_name_of_an_ended_one_does_not_come_last(listener):
    put(listener.store, PADDLE_JOB, JOB | {"status": {"phase": "Completed"}})
    informer = listener.informers[PADDLE_JOB]
    informer.replace([informer.pack(a_job(uid="job-2", version=9))], "9")
    assert listener.asked == ["now"]


def test_an_event_of_an_ended_job_is_no_list(listener):
    put(listener.store, PADDLE_JOB, JOB | {"status": {"phase": "Completed"}})
    listener.informers[POD].remove(pod("a"))
    assert listener.asked == ["now"]
