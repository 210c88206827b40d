"""A webhook of one namespace hangs: its jobs say so, and those of others do not notice."""

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from localcluster import Cluster, clock
from tests.conftest import new_namespace
from tests.live.faulty import webhook
from tests.live.lab import Lab, paddle_job, shell
from tests.live.operated import operator_behind
from tests.live.proxy import FaultProxy

SLOW_JOBS = 60
OTHER_JOBS = 12
LATE_SECONDS = 3.0
TOLD_SECONDS = 30.0
SHARED_WORKERS = 8
"""So many jobs are looked at in the first ten seconds; the others wait for their turn."""
WAITS = shell("exec sleep 3600")


@dataclass
class Scene:
    """Two namespaces of one operator."""

    slow: Lab
    other: Lab


@pytest.fixture
def deaf() -> Iterator[int]:
    """A port on which somebody accepts and never says anything."""
    with closing(socket.create_server(("127.0.0.1", 0), backlog=1000)) as listener:
        yield int(listener.getsockname()[1])


@pytest.fixture
def scene(unattended: Cluster, deaf: int, tmp_path: Path) -> Iterator[Scene]:
    with (
        new_namespace(unattended) as slow,
        new_namespace(unattended) as other,
        closing(FaultProxy(unattended)) as proxy,
        operator_behind(proxy, "", tmp_path),
    ):
        unattended.kubectl("create", "-f", "-", stdin=json.dumps(webhook(slow, deaf)))
        yield Scene(Lab(unattended, slow), Lab(unattended, other))
        unattended.kubectl("delete", "validatingwebhookconfiguration", slow)


def seconds_to_pods(lab: Lab, name: str) -> float:
    started = clock.monotonic()
    lab.submit(paddle_job(name, {"worker": (1, WAITS)}))
    lab.wait(lambda: lab.pods(name), f"pods of {name}")
    return clock.monotonic() - started


def test_jobs_of_others_do_not_wait_and_the_slow_ones_say_why(scene: Scene) -> None:
    seconds_to_pods(scene.other, "warm")
    jobs = [paddle_job(f"slow-{n}", {"worker": (1, WAITS)}) for n in range(SLOW_JOBS)]
    scene.slow.submit(*jobs)
    submitted = clock.monotonic()
    took = [seconds_to_pods(scene.other, f"quick-{number}") for number in range(OTHER_JOBS)]
    assert max(took) <= LATE_SECONDS, took
    left = submitted + TOLD_SECONDS - clock.monotonic()
    scene.slow.wait(
        lambda: len(told(scene.slow)) >= SHARED_WORKERS, "they say what they wait for", left
    )


def told(lab: Lab) -> list[str]:
    """What the jobs say whose pods could not be created."""
    return [
        condition["message"]
        for job in lab.items("/apis/batch.paddlepaddle.org/v1", "paddlejobs")
        for condition in job.get("status", {}).get("conditions", ())
        if condition["reason"] == "CreateRefused"
    ]
