"""A webhook of one namespace hangs: its jobs say so, and those of others do not notice."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from localcluster import Cluster, clock
from tests.conftest import new_namespace
from tests.live.apiserver import ApiServer, jobs_path
from tests.live.faulty import webhook
from tests.live.lab import CORE, Lab, paddle_job, shell, waiting_for_ever
from tests.live.operated import operator_behind
from tests.live.proxy import FaultProxy

SLOW_JOBS = 60
HANGING = 3
OTHER_JOBS = 25
LATE_SECONDS = 5.0
"""What a busy or slow machine may add. Without a free worker, a job waits for as long as several
requests hang, 10 s each: more than a minute, as long as nothing kept workers back."""
TOLD_SECONDS = 60.0
"""If each job had to try for itself, 8 at once for 10 s, the last would say so after 75 s."""
HEALED_SECONDS = 120.0
"""What was refused is tried again after 30 s at most; some tries hang then already, for 10 s."""
WAITS = shell("exec sleep 3600")


@dataclass
class Scene:
    """Namespaces of one operator: those that are to be slow, and another one."""

    slow: list[Lab]
    other: Lab
    deaf: int

    def hang(self, lab: Lab) -> None:
        """From now on the namespace's webhook hangs, and has many jobs to hang on."""
        configuration = json.dumps(webhook(lab.namespace, self.deaf))
        lab.cluster.kubectl("create", "-f", "-", stdin=configuration)
        jobs = [paddle_job(f"slow-{n}", {"worker": (1, WAITS)}) for n in range(SLOW_JOBS)]
        lab.submit(*jobs)


@pytest.fixture
def deaf() -> Iterator[int]:
    """A port on which somebody accepts and never says anything."""
    with closing(socket.create_server(("127.0.0.1", 0), backlog=1000)) as listener:
        yield int(listener.getsockname()[1])


@pytest.fixture
def scene(unattended: Cluster, deaf: int, tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as stack:
        names = [stack.enter_context(new_namespace(unattended)) for _ in range(HANGING + 1)]
        proxy = stack.enter_context(closing(FaultProxy(unattended)))
        stack.enter_context(operator_behind(proxy, "", tmp_path))
        other, *slow = [Lab(unattended, name) for name in names]
        yield Scene(slow, other, deaf)
        for lab in slow:
            configuration = "validatingwebhookconfiguration"
            unattended.kubectl("delete", configuration, lab.namespace, "--ignore-not-found")


def seconds_to_pods(lab: Lab, name: str) -> float:
    started = clock.monotonic()
    job = paddle_job(name, {"worker": (1, waiting_for_ever())})
    assert ApiServer(lab.cluster).create(jobs_path(lab.namespace), job).is_ok
    lab.wait(lambda: lab.pods(name), f"pods of {name}")
    return clock.monotonic() - started


def slowest(lab: Lab, name: str) -> float:
    """How long the pods of new jobs took at most: of so few jobs that is the 99th percentile."""
    return max(seconds_to_pods(lab, f"{name}-{number}") for number in range(OTHER_JOBS))


def alone(lab: Lab) -> float:
    """The same while nobody hangs."""
    seconds_to_pods(lab, "warm")
    return slowest(lab, "alone")


def test_jobs_of_others_do_not_wait_and_the_slow_ones_say_why(scene: Scene) -> None:
    """All of them say so in time, and all get their pods soon after the webhook is gone."""
    slow, *_ = scene.slow
    calm = alone(scene.other)
    scene.hang(slow)
    submitted = clock.monotonic()
    check_quick(scene.other, calm)
    left = max(1.0, submitted + TOLD_SECONDS - clock.monotonic())
    slow.wait(lambda: len(told(slow)) == SLOW_JOBS, "all say what they wait for", left)
    slow.cluster.kubectl("delete", "validatingwebhookconfiguration", slow.namespace)
    slow.wait(lambda: len(slow.items(CORE, "pods")) == SLOW_JOBS, "all pods", HEALED_SECONDS)


def test_three_namespaces_that_hang_hold_up_no_fourth(scene: Scene) -> None:
    """Not even where the first had time to take all workers that it may have."""
    calm = alone(scene.other)
    for lab in scene.slow:
        scene.hang(lab)
    check_quick(scene.other, calm)


def check_quick(lab: Lab, calm: float) -> None:
    """No new job waits for its pods as long as one request hangs."""
    beside = slowest(lab, "beside")
    assert beside <= calm + LATE_SECONDS, (beside, calm)


def told(lab: Lab) -> list[str]:
    """What the jobs say whose pods could not be created."""
    return [
        condition["message"]
        for job in lab.items("/apis/batch.paddlepaddle.org/v1", "paddlejobs")
        for condition in job.get("status", {}).get("conditions", ())
        if condition["reason"] == "CreateRefused"
    ]
