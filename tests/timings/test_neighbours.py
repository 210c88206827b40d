"""What a tenant of one namespace does costs the jobs of another nothing."""

import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from statistics import median

import pytest

from api.constants import MAX_REPLICAS
from localcluster import Cluster
from localcluster.machine import clock
from tests.conftest import new_namespace
from tests.live.apiserver import ApiServer, jobs_path
from tests.live.faulty import impose
from tests.live.lab import CORE, Lab, paddle_job, shell, waiting_for_ever
from tests.live.operated import operator_beside
from tests.live.tenant import Tenant

JOBS = [f"wide-{number}" for number in range(30)]
EDITS_PER_SECOND = 10.0
SECONDS = 2.0
NEIGHBOURS = 3
CROWD = 2000
WIDE, WIDE_JOBS = 3000, 3
CLIENTS = 4
SECONDS_IN_A_CROWD = 1.0


@pytest.fixture
def tenant(operated: Cluster) -> Iterator[Tenant]:
    with new_namespace(operated) as namespace:
        impose(Lab(operated, namespace), "none", pods=0)
        yield Tenant(operated, namespace)


@pytest.fixture
def edits(tenant: Tenant) -> Iterator[None]:
    """Thirty jobs of ten thousand pods, one or the other of which the tenant edits all the time."""
    roles = {"worker": (MAX_REPLICAS, shell("true"))}
    tenant.submit(*(paddle_job(name, roles) for name in JOBS))
    server = ApiServer(tenant.cluster, tenant.kubeconfig)
    end = threading.Event()

    def edit() -> None:
        for number in itertools.count(1):
            path = jobs_path(tenant.namespace, JOBS[number % len(JOBS)])
            assert server.merge_patch(path, {"spec": {"backoffLimit": number}}).is_ok
            if end.wait(1 / EDITS_PER_SECOND):
                return

    editing = threading.Thread(target=edit)
    editing.start()
    yield
    assert editing.is_alive(), "the edits have stopped"
    end.set()
    editing.join()
    server.close()


@pytest.fixture
def calm_seconds(lab: Lab) -> float:
    """How long a job takes to Running on this machine while nobody edits anything."""
    return seconds_to_running(lab, "before")


def test_jobs_that_a_quota_refuses_do_not_hold_up_others(calm_seconds, tenant, edits, lab):
    refused = Lab(tenant.cluster, tenant.namespace)
    for name in JOBS:
        told = "quota is told"
        refused.wait(lambda n=name: refused.condition(n, "Pending").get("message"), told)
    took = [seconds_to_running(lab, f"calm-{number}") for number in range(NEIGHBOURS)]
    assert median(took) <= max(SECONDS, 2 * calm_seconds), (took, calm_seconds)


@pytest.fixture
def crowd(unattended: Cluster) -> Iterator[Lab]:
    """Two thousand jobs of somebody, all of which a new operator finds at once.

    Their pods wait for a scheduler that there is not.
    """
    with new_namespace(unattended) as namespace:
        crowd = Lab(unattended, namespace)
        with ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(lambda part: create_jobs(crowd, part), range(CLIENTS)))
        with operator_beside(unattended, namespace=""):
            crowd.wait(lambda: pod_count(crowd), "the operator has begun")
            yield crowd


def test_two_thousand_jobs_do_not_hold_up_others(crowd: Lab) -> None:
    check_calm(crowd, CROWD, SECONDS_IN_A_CROWD)


@pytest.fixture
def wide(unattended: Cluster) -> Iterator[Lab]:
    with someone_alone(unattended) as lab:
        lab.submit(paddle_job("wide", {"worker": (CROWD, waiting_for_ever())}))
        lab.wait(lambda: pod_count(lab), "the operator has begun")
        yield lab


def test_job_of_two_thousand_pods_does_not_hold_up_others(wide: Lab) -> None:
    check_calm(wide, CROWD, SECONDS)


@pytest.fixture
def admitted(unattended: Cluster) -> Iterator[Lab]:
    """Three jobs of three thousand pods, all refused so far, when the quota lets their pods in."""
    with someone_alone(unattended) as late:
        impose(late, "late", pods=0)
        names = [f"late-{number}" for number in range(WIDE_JOBS)]
        roles = {"worker": (WIDE, waiting_for_ever())}
        late.submit(*(paddle_job(name, roles) for name in names))
        for name in names:
            late.wait(lambda n=name: late.condition(n, "Pending").get("message"), "quota is told")
        late.patch(CORE, "resourcequotas/late", spec={"hard": {"pods": str(WIDE * WIDE_JOBS)}})
        late.wait(lambda: pod_count(late), "their first pods")
        yield late


def test_wide_jobs_that_are_admitted_late_do_not_hold_up_others(admitted: Lab) -> None:
    check_calm(admitted, WIDE * WIDE_JOBS, SECONDS)


def check_calm(busy: Lab, all_pods: int, seconds: float) -> None:
    """New jobs of another namespace soon have their pods while those of this one are made."""
    with new_namespace(busy.cluster) as namespace:
        neighbour = Lab(busy.cluster, namespace)
        took = [seconds_to_pods(neighbour, f"calm-{number}") for number in range(NEIGHBOURS)]
        assert pod_count(busy) < all_pods, "all of its pods are there already"
        assert median(took) <= seconds, took


@contextmanager
def someone_alone(unattended: Cluster) -> Iterator[Lab]:
    with (
        new_namespace(unattended) as namespace,
        operator_beside(unattended, namespace=""),
    ):
        yield Lab(unattended, namespace)


def pod_count(lab: Lab) -> int:
    """How many pods there are, without reading them."""
    found = lab.get(CORE, "pods?limit=1")
    return len(found["items"]) + int(found["metadata"].get("remainingItemCount", 0))


def create_jobs(lab: Lab, part: int) -> None:
    """One client's part of the crowd."""
    server = ApiServer(lab.cluster)
    template = waiting_for_ever()
    for number in range(part, CROWD, CLIENTS):
        job = paddle_job(f"crowd-{number}", {"worker": (1, template)})
        assert server.create(jobs_path(lab.namespace), job).is_ok
    server.close()


def seconds_to_pods(lab: Lab, name: str) -> float:
    lab.submit(paddle_job(name, {"worker": (2, shell("exec sleep 3600"))}))
    created = clock.monotonic()
    lab.wait(lambda: len(lab.pods(name)) == 2, f"the pods of {name}")
    return clock.monotonic() - created


def seconds_to_running(lab: Lab, name: str) -> float:
    lab.submit(paddle_job(name, {"worker": (2, shell("exec sleep 3600"))}))
    created = clock.monotonic()
    lab.wait_phase(name, "Running")
    return clock.monotonic() - created
