"""A thousand jobs with the same mistake hold up none of another namespace."""

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from localcluster import Cluster
from localcluster.machine import clock
from tests.conftest import new_namespace
from tests.live.apiserver import ApiServer, jobs_path
from tests.live.lab import CORE, Lab, paddle_job, shell
from tests.live.operated import operator_beside

WAITS = shell("exec sleep 3600")
CLIENTS = 4
SAME_MISTAKE = 1000
OTHER_JOBS = 12
LATE_FACTOR, LATE_SECONDS = 2.0, 2.0


@dataclass
class Scene:
    bad: Lab
    other: Lab


@pytest.fixture
def scene(unattended: Cluster) -> Iterator[Scene]:
    with (
        new_namespace(unattended) as bad,
        new_namespace(unattended) as other,
        operator_beside(unattended, namespace=""),
    ):
        yield Scene(Lab(unattended, bad), Lab(unattended, other))


def test_thousand_jobs_with_the_same_mistake_say_so_and_hold_nobody_up(scene: Scene) -> None:
    alone = [seconds_to_pods(scene.other, f"alone-{number}") for number in range(OTHER_JOBS)]
    create_crowd(scene.bad)
    beside = [seconds_to_pods(scene.other, f"beside-{number}") for number in range(OTHER_JOBS)]
    assert p99(beside) <= max(LATE_FACTOR * p99(alone), LATE_SECONDS), (alone, beside)
    scene.bad.wait(lambda: told(scene.bad) == SAME_MISTAKE, "all say so")


def create_crowd(lab: Lab) -> None:
    """Jobs whose containers have a name that no pod may have."""
    template = shell("true")
    template["spec"]["containers"][0]["name"] = "Not_A_Name"
    server = ApiServer(lab.cluster)

    def make(number: int) -> None:
        job = paddle_job(f"crowd-{number}", {"worker": (1, template)})
        assert server.create(jobs_path(lab.namespace), job).is_ok

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(make, range(SAME_MISTAKE)))
    server.close()


def told(lab: Lab) -> int:
    return sum(
        status.get("reason") == "InvalidSpec" and "containers[0].name" in status["message"]
        for job in lab.items("/apis/batch.paddlepaddle.org/v1", "paddlejobs")
        for status in [job.get("status", {})]
    )


def seconds_to_pods(lab: Lab, name: str) -> float:
    lab.cluster.client.create(jobs_path(lab.namespace), paddle_job(name, {"worker": (1, WAITS)}))
    created = clock.monotonic()
    lab.wait(lambda: lab.get(CORE, f"pods/{name}-worker-0"), f"the pod of {name}")
    return clock.monotonic() - created


def p99(seconds: list[float]) -> float:
    return sorted(seconds)[math.ceil(0.99 * len(seconds)) - 1]
