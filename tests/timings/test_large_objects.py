"""However large the objects of a tenant are, the operator stays below its limit of memory."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from api.constants import (
    API_VERSION,
    KIND,
    LABEL_ATTEMPT,
    LABEL_JOB_UID,
    MAX_ENV_VALUE_BYTES,
)
from api.job import config_map_name
from api.objects import Raw, name_of, uid_of
from localcluster import Cluster, ClusterConfig
from localcluster.machine import clock
from localcluster.machine.process import Process
from reconcile.objects.rendezvous import ENDPOINT_LISTS
from tests.conftest import new_namespace
from tests.live import patience, volcano
from tests.live.apiserver import ApiServer, jobs_path
from tests.live.faulty import impose
from tests.live.lab import CORE, Lab, paddle_job, shell
from tests.live.operated import install_without_deployment, readyz, run_operator
from tests.live.processes import status_of
from tests.live.tenant import Tenant

CONFIG_MAPS = 400
JOBS = 300
BYTES = 1_000_000
JOBS_OF_PARTS = 10
CHAINS, LINKS = 6_000, 100
"""Lists in lists, which take thirty times as much when they are read as they do as text."""
MAX_PEAK_MB = 400
"""The manifests limit the operator to 512 MiB."""
OPERATOR = "operator-"
LOOK_SECONDS = 15.0
"""Meanwhile each of them has had a pass."""
CLIENTS = 4


@pytest.fixture
def plane() -> Iterator[Cluster]:
    """A control plane of the test's own, which may come to hold ten gigabytes."""
    with Cluster(ClusterConfig(nodes=0)) as running:
        install_without_deployment(running)
        volcano.install_pod_groups(running)
        yield running


@pytest.fixture
def tenant(plane: Cluster) -> Iterator[Tenant]:
    with new_namespace(plane) as namespace:
        yield Tenant(plane, namespace)


@pytest.fixture
def neighbour(plane: Cluster) -> Iterator[Lab]:
    with new_namespace(plane) as namespace:
        yield Lab(plane, namespace)


def start(plane: Cluster) -> Process:
    process = run_operator(plane, "", "--health-probe-bind-address=127.0.0.1:0")
    assert clock.wait_until(lambda: readyz(process.pid)[0] == 200, patience.SECONDS)
    return process


def a_config_map(owner: Raw, number: int) -> Raw:
    """It looks like that of one of the job's attempts, in its name and with all its endpoints."""
    labels = {LABEL_JOB_UID: uid_of(owner), LABEL_ATTEMPT: str(number)}
    endpoints = dict.fromkeys(ENDPOINT_LISTS.values(), "x" * MAX_ENV_VALUE_BYTES)
    reference = {"apiVersion": API_VERSION, "kind": KIND, "name": name_of(owner)}
    return {
        "metadata": {
            "name": config_map_name(name_of(owner), number),
            "labels": labels,
            "ownerReferences": [{**reference, "uid": uid_of(owner), "controller": True}],
        },
        "data": endpoints | {"rest": "x" * (BYTES - len(endpoints) * MAX_ENV_VALUE_BYTES)},
    }


def a_job(number: int) -> Raw:
    template = shell("true")
    template["spec"]["containers"][0]["args"] = ["x" * BYTES]
    return paddle_job(f"large-{number}", {"worker": (1, template)}, managedBy="example.com/other")


def fill(tenant: Tenant) -> None:
    config_maps = f"{CORE}/namespaces/{tenant.namespace}/configmaps"
    tenant.submit(a_job(JOBS))
    (owner,) = tenant.objects("pdj")
    bodies = [(config_maps, a_config_map(owner, number)) for number in range(2, CONFIG_MAPS + 2)]
    bodies += [(jobs_path(tenant.namespace), a_job(number)) for number in range(JOBS)]
    server = ApiServer(tenant.cluster, tenant.kubeconfig)
    with ThreadPoolExecutor(CLIENTS) as pool:
        for answer in pool.map(lambda body: server.create(*body), bodies):
            assert answer.is_ok, answer.message
    server.close()


def check(operator: Process, neighbour: Lab, job: str) -> None:
    neighbour.submit(paddle_job(job, {"worker": (1, shell("true"))}))
    neighbour.wait(lambda: neighbour.pods(job), f"the pod of {job}")
    assert status_of(operator.pid)["VmHWM"] / 1024 <= MAX_PEAK_MB


def test_large_objects_do_not_fill_the_operators_memory(plane, tenant, neighbour):
    operator = start(plane)
    fill(tenant)
    check(operator, neighbour, "beside")
    plane.stop(OPERATOR)
    check(start(plane), neighbour, "after-restart")
    plane.stop(OPERATOR)


def of_tiny_parts() -> Raw:
    """A template with the one thing in which the API server lets anything be."""
    template = shell("true")
    chain: list[Any] = []
    for _ in range(LINKS):
        chain = [chain]
    managed = {"manager": "x", "fieldsType": "FieldsV1", "fieldsV1": {"x": [chain] * CHAINS}}
    storage = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"metadata": {"managedFields": [managed]}, "spec": storage}
    template["spec"]["volumes"] = [{"name": "x", "ephemeral": {"volumeClaimTemplate": claim}}]
    return template


def test_jobs_of_tiny_parts_do_not_fill_it_either(plane, tenant, neighbour):
    impose(Lab(plane, tenant.namespace), "none", pods=0)
    server = ApiServer(plane, tenant.kubeconfig)
    for number in range(JOBS_OF_PARTS):
        job = paddle_job(f"parts-{number}", {"worker": (1, of_tiny_parts())})
        answer = server.create(jobs_path(tenant.namespace), job)
        assert answer.is_ok, answer.message
    server.close()
    operator = start(plane)
    check(operator, neighbour, "beside")
    clock.sleep(LOOK_SECONDS)
    check(operator, neighbour, "later")
    plane.stop(OPERATOR)
