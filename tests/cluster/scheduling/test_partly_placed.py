"""Gangs that Kubernetes places pod by pod: none waits forever for room that another one holds.

The scheduler and the quota are the real ones. SEEDS chooses how many crowds are tried.
"""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from api.constants import Reason
from localcluster import Cluster
from tests.conftest import new_namespace
from tests.live.faulty import impose
from tests.live.lab import Lab, Raw, paddle_job, shell
from tests.live.operated import operator_beside
from tests.live.pdj import assert_explained

SEEDS = range(int(os.environ.get("SEEDS", "1")))
NODES, GPUS = 4, 4
GANGS = 10


@pytest.fixture
def lab(unattended: Cluster) -> Iterator[Lab]:
    """On four nodes of four GPUs."""
    with new_namespace(unattended) as namespace:
        yield Lab(unattended, namespace)


@contextmanager
def operator(lab: Lab, *jobs: Raw) -> Iterator[None]:
    """One that soon gives back, and finds all of these jobs at once."""
    lab.submit(*jobs)
    with operator_beside(lab.cluster, "", "--give-back-after=5"):
        yield


def gang(name: str, pods: int, gpus: int) -> Raw:
    """A job of one server and workers that each ask for so many GPUs, and soon end."""
    resources = {"limits": {"nvidia.com/gpu": str(gpus)}}
    server = shell("exec sleep 3600", resources=resources)
    roles = {"ps": (1, server), "worker": (pods - 1, shell("sleep 1", resources=resources))}
    return paddle_job(name, roles, cleanPodPolicy="Always")


def assert_all_end(lab: Lab, jobs: list[Raw]) -> None:
    """Every job ends well without a restart, and some have given back what they held."""
    with operator(lab, *jobs):
        statuses = [lab.wait_completed(job["metadata"]["name"]) for job in jobs]
    for status in statuses:
        assert not {"restartCount", "failureCount", "failures"} & status.keys()
    given_back = [status["attempt"] for status in statuses if status["attempt"] > 1]
    assert given_back, "there was room for all at once"


def test_two_gangs_that_each_hold_half_of_the_nodes_end(lab: Lab) -> None:
    assert_all_end(lab, [gang(f"gang-{number}", NODES, 3) for number in range(2)])


@pytest.mark.parametrize("seed", SEEDS)
def test_crowd_of_gangs_of_random_sizes_ends(lab: Lab, seed: int) -> None:
    choose = random.Random(seed)
    sizes = [(choose.randint(2, NODES), choose.randint(2, GPUS)) for _ in range(GANGS)]
    assert_all_end(lab, [gang(f"gang-{n}", *size) for n, size in enumerate(sizes)])


def test_gangs_of_which_a_quota_admits_a_part_end(lab: Lab) -> None:
    impose(lab, "few", pods=6)
    assert_all_end(lab, [gang(f"gang-{number}", 5, 1) for number in range(4)])


def test_it_is_explained(lab: Lab) -> None:
    job = gang("half", 2, 1)
    trainer = job["spec"]["worker"]["template"]["spec"]["containers"][0]
    trainer["resources"] = {"limits": {"nvidia.com/gpu": "100"}}
    with operator(lab, job):
        assert_explained(lab, "half", Reason.PARTLY_PLACED)
        lab.wait(lambda: lab.events("half", Reason.PARTLY_PLACED), "an Event")
    assert "on node-" in lab.events("half", Reason.PARTLY_PLACED)[0]
