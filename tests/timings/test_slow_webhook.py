"""A webhook of one namespace hangs: its jobs say so, and those of others do not notice.

How long a job took is read off the API server's log: it has one clock for all and misses nothing.
"""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import datetime

import pytest

from localcluster import Cluster
from localcluster.machine import clock
from tests.conftest import new_namespace
from tests.live.apiserver import ApiServer, jobs_path
from tests.live.faulty import install_webhook
from tests.live.lab import CORE, Lab, paddle_job, shell, waiting_for_ever
from tests.live.operated import operator_beside
from tests.live.proxy import audit_entries

SLOW_JOBS = 60
HANGING = 3
OTHER_JOBS = 25
EVERY_SECONDS = 0.6
"""So far apart they come while others hang, so that some meet the moment at which the first creates
have timed out, after 10 s, and all jobs of that namespace say so at once."""
LATE_FACTOR, LATE_SECONDS = 2.0, 1.0
"""A pod is there within so many times what it takes alone, or so much later on a busy machine. A
job without a free worker waits until a request that hangs is given up, 10 s."""
WAITS = shell("exec sleep 3600")


@dataclass
class Scene:
    """Namespaces of one operator: those that are to be slow, and another one."""

    slow: list[Lab]
    other: Lab
    deaf: int

    def hang(self, lab: Lab) -> None:
        """From now on the namespace's webhook hangs, and has many jobs to hang on."""
        install_webhook(lab, self.deaf)
        jobs = [paddle_job(f"slow-{n}", {"worker": (1, WAITS)}) for n in range(SLOW_JOBS)]
        lab.submit(*jobs)


@pytest.fixture
def deaf() -> Iterator[int]:
    """A port on which somebody accepts and never says anything."""
    with closing(socket.create_server(("127.0.0.1", 0), backlog=1000)) as listener:
        yield int(listener.getsockname()[1])


@pytest.fixture
def scene(unattended: Cluster, deaf: int) -> Iterator[Scene]:
    with ExitStack() as stack:
        names = [stack.enter_context(new_namespace(unattended)) for _ in range(HANGING + 1)]
        stack.enter_context(operator_beside(unattended, namespace=""))
        other, *slow = [Lab(unattended, name) for name in names]
        yield Scene(slow, other, deaf)
        for lab in slow:
            configuration = "validatingwebhookconfiguration"
            unattended.kubectl("delete", configuration, lab.namespace, "--ignore-not-found")


def slowest(lab: Lab, series: str, every_seconds: float = 0.0) -> float:
    """How long the pods of new jobs took at most: of so few jobs that is the 99th percentile."""
    names, began = [f"{series}-{number}" for number in range(OTHER_JOBS)], clock.monotonic()
    for number, name in enumerate(names):
        clock.sleep(max(0.0, began + number * every_seconds - clock.monotonic()))
        create(lab, name)
    lab.wait(lambda: set(names) <= seconds_to_pods(lab).keys(), "the log has them all")
    took = seconds_to_pods(lab)
    return max(took[name] for name in names)


def create(lab: Lab, name: str) -> None:
    job = paddle_job(name, {"worker": (1, waiting_for_ever())})
    assert ApiServer(lab.cluster).create(jobs_path(lab.namespace), job).is_ok
    lab.wait(lambda: lab.pods(name), f"pods of {name}")


def seconds_to_pods(lab: Lab) -> dict[str, float]:
    """By job, the time from when the API server was asked for it until its pod had been made."""
    asked, made = {}, {}
    for entry in audit_entries(lab.cluster, about=lab.namespace):
        of = entry.get("objectRef", {})
        if entry["verb"] != "create" or of.get("namespace") != lab.namespace:
            continue
        if of["resource"] == "paddlejobs":
            asked[of["name"]] = datetime.fromisoformat(entry["requestReceivedTimestamp"])
        if of["resource"] == "pods":
            made[of["name"]] = datetime.fromisoformat(entry["stageTimestamp"])
    pods = {job: made.get(f"{job}-worker-0") for job in asked}
    return {job: (at - asked[job]).total_seconds() for job, at in pods.items() if at}


def alone(lab: Lab) -> float:
    create(lab, "warm")  # the operator starts
    return slowest(lab, "alone")


def test_jobs_of_others_do_not_wait_and_the_slow_ones_say_why(scene: Scene) -> None:
    """All of them say so in time, and all get their pods soon after the webhook is gone."""
    slow, *_ = scene.slow
    calm = alone(scene.other)
    scene.hang(slow)
    check_quick(scene.other, calm)
    slow.wait(lambda: len(told(slow)) == SLOW_JOBS, "all say what they wait for")
    slow.cluster.kubectl("delete", "validatingwebhookconfiguration", slow.namespace)
    slow.wait(lambda: len(slow.items(CORE, "pods")) == SLOW_JOBS, "all pods")


def test_three_namespaces_that_hang_hold_up_no_fourth(scene: Scene) -> None:
    """Not even where the first had time to take all workers that it may have."""
    calm = alone(scene.other)
    for lab in scene.slow:
        scene.hang(lab)
    check_quick(scene.other, calm)


def check_quick(lab: Lab, calm: float) -> None:
    """No new job waits for its pods as long as one request hangs."""
    beside = slowest(lab, "beside", EVERY_SECONDS)
    assert beside <= max(LATE_FACTOR * calm, calm + LATE_SECONDS), (beside, calm)


def told(lab: Lab) -> list[str]:
    return [
        condition["message"]
        for job in lab.items("/apis/batch.paddlepaddle.org/v1", "paddlejobs")
        for condition in job.get("status", {}).get("conditions", ())
        if (condition["type"], condition["reason"]) == ("Pending", "CreateUnanswered")
    ]
