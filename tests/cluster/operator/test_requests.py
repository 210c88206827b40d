"""What becomes of single requests: lost answers, refusals, throttling. No job minds for long."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest

from localcluster import Cluster
from localcluster.machine import clock
from tests.conftest import new_namespace
from tests.live.lab import Lab, paddle_job, shell
from tests.live.operated import operator_behind
from tests.live.proxy import Counted, FaultProxy, answer, audit_entries, first, refuse

ENDS = {"worker": (2, shell("exit 0"))}
WAITS = {"worker": (1, shell("exec sleep 3600"))}
THROTTLED = 12
"""More jobs than there are workers."""
MOST_TRIES = 3
"""Of each job meanwhile: its own news wakes it. A back-off from 5 ms on would come to ten."""
LOOK_SECONDS = 5.0


@dataclass
class Scene:
    """Two namespaces of one operator, and the proxy behind which it works."""

    lab: Lab
    other: Lab
    proxy: FaultProxy
    unheard: list[int]
    """As many of the next answers to writes are lost as there are entries."""


@pytest.fixture(scope="module")
def scene(unattended: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    unheard: list[int] = []

    def is_heard(count: int) -> bool:
        return not (unheard and unheard.pop())

    folder = tmp_path_factory.mktemp("proxied")
    with (
        new_namespace(unattended) as first_one,
        new_namespace(unattended) as second,
        closing(FaultProxy(unattended, after_write=is_heard)) as proxy,
        operator_behind(proxy, "", folder),
    ):
        lab = Lab(unattended, first_one)
        lab.submit(paddle_job("before", ENDS))
        lab.wait_completed("before")
        yield Scene(lab, Lab(unattended, second), proxy, unheard)


TROUBLES = {
    "timeout": ("POST", "/pods", first(3, answer(504))),
    "throttled": ("POST", "/pods", first(5, refuse(429, "TooManyRequests", retry_after=1))),
    "conflict": ("PATCH", "/status", first(3, refuse(409, "Conflict"))),
    "status-failure": ("PATCH", "/status", first(3, refuse(500, "InternalError"))),
    "events-refused": ("POST", "/events", refuse(403, "Forbidden")),
    "events-throttled": ("POST", "/events", refuse(429, "TooManyRequests", retry_after=30)),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_job_ends_well_and_no_pod_is_made_twice(scene: Scene, name: str) -> None:
    method, pattern, act = TROUBLES[name]
    with scene.proxy.rule(method, pattern, act):
        scene.lab.submit(paddle_job(name, ENDS, cleanPodPolicy="Never"))
        check_ends_well(scene.lab, name)


def test_writes_whose_answers_are_lost_are_not_done_twice(scene: Scene) -> None:
    scene.unheard += [1] * 8
    scene.lab.submit(paddle_job("unheard", ENDS, cleanPodPolicy="Never"))
    check_ends_well(scene.lab, "unheard")
    assert not scene.unheard


def check_ends_well(lab: Lab, name: str) -> None:
    status = lab.wait_completed(name)
    assert (status["attempt"], status.get("restartCount", 0)) == (1, 0)
    assert creations(lab, name) == {f"{name}-worker-0": 1, f"{name}-worker-1": 1}


def creations(lab: Lab, job: str) -> Counter[str]:
    return Counter(
        entry["objectRef"]["name"]
        for entry in audit_entries(lab.cluster, about=lab.namespace)
        if (entry["verb"], entry.get("responseStatus", {}).get("code")) == ("create", 201)
        and entry["objectRef"]["resource"] == "pods"
        and "subresource" not in entry["objectRef"]
        and entry["objectRef"].get("namespace") == lab.namespace
        and entry["objectRef"]["name"].startswith(f"{job}-worker-")
    )


def test_job_whose_services_are_refused_starts_no_pod_and_goes_on_later(scene: Scene) -> None:
    lab = scene.lab
    with scene.proxy.rule("POST", "/services", refuse(403, "Forbidden", "no Services today")):
        lab.submit(paddle_job("half", ENDS, intranet="Service", cleanPodPolicy="Never"))
        lab.wait(lambda: "no Services" in lab.condition("half", "Pending").get("message", ""), "so")
        assert not lab.pods("half")
    lab.wait_completed("half")


def test_throttling_of_one_namespace_holds_up_no_worker(scene: Scene) -> None:
    asked = Counted(refuse(429, "TooManyRequests", retry_after=3600))
    jobs = [paddle_job(f"slow-{number}", WAITS) for number in range(THROTTLED)]
    with scene.proxy.rule("POST", f"/{scene.lab.namespace}/pods", asked):
        scene.lab.submit(*jobs)
        scene.lab.wait(lambda: len(asked.paths) >= THROTTLED, "each has asked")
        scene.other.submit(paddle_job("calm", WAITS))
        scene.other.wait(lambda: scene.other.pods("calm"), "its pod")
        clock.sleep(LOOK_SECONDS)
        assert len(asked.paths) <= MOST_TRIES * THROTTLED, "they ask again before the server said"
