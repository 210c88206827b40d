"""Objects of one tenant, nested as deeply as the API server takes them, cost another nothing."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from api.constants import API_VERSION, GANG_API_VERSION, LABEL_JOB_UID
from localcluster import Cluster, ClusterConfig
from localcluster.machine import clock
from tests.conftest import new_namespace
from tests.live import patience
from tests.live.lab import PADDLE_JOBS, Lab, Raw, paddle_job, shell
from tests.live.operated import install_without_deployment, readyz, run_operator
from tests.live.tenant import JOBS, Tenant

DEPTHS = (1_100, 5_000, 9_000)
"""From a neighbour's submission until its job runs."""
OPERATOR = "operator-"
WAITS = shell("exec sleep 3600")
POD_GROUPS = f"/apis/{GANG_API_VERSION}"
POLL_SECONDS = 0.1


@pytest.fixture(scope="module")
def plane() -> Iterator[Cluster]:
    """A cluster of this module's own: what it holds would hurt the tests of others."""
    with Cluster(ClusterConfig(nodes=1)) as running:
        install_without_deployment(running)
        yield running


@contextmanager
def operator(plane: Cluster) -> Iterator[None]:
    """An operator that has to be ready all the time, from the first time that it is."""
    process = run_operator(plane, "", "--health-probe-bind-address=127.0.0.1:0")
    assert clock.wait_until(lambda: readyz(process.pid)[0] == 200, patience.SECONDS), readyz(
        process.pid
    )
    problems, end = list[str](), threading.Event()

    def probe() -> None:
        while not end.wait(POLL_SECONDS):
            status, body = readyz(process.pid)
            if status != 200:
                problems.append(body)

    probing = threading.Thread(target=probe)
    probing.start()
    try:
        yield
    finally:
        end.set()
        probing.join()
        plane.stop(OPERATOR)
    assert problems == []


@pytest.fixture
def labs(plane: Cluster) -> Iterator[tuple[Lab, Lab]]:
    with ExitStack() as stack:
        names = [stack.enter_context(new_namespace(plane)) for _ in range(2)]
        yield Lab(plane, names[0]), Lab(plane, names[1])


def tenant_of(lab: Lab) -> Tenant:
    return Tenant(lab.cluster, lab.namespace, JOBS)


def create(tenant: Tenant, api: str, plural: str, body: str) -> None:
    path = f"{api}/namespaces/{tenant.namespace}/{plural}"
    tenant.kubectl("create", "--raw", path, "-f", "-", stdin=body)


def nested(depth: int) -> str:
    """`depth` maps, one in the other, as managedFields may have them."""
    return '{"f:a":' * depth + "{}" + "}" * depth


def managed_fields(api_version: str, depth: int) -> str:
    """The API server keeps those of a version that it knows."""
    return (
        f'[{{"manager":"m","operation":"Update","apiVersion":"{api_version}",'
        f'"fieldsType":"FieldsV1","time":"2026-01-02T03:04:05Z","fieldsV1":{nested(depth)}}}]'
    )


def with_fields(obj: Raw, depth: int) -> str:
    return json.dumps(obj).replace('"DEEP"', managed_fields(obj["apiVersion"], depth))


def in_template(tenant: Tenant, depth: int, _: Path) -> None:
    template = WAITS | {"metadata": {"managedFields": "DEEP"}}
    job = paddle_job(f"deep-{depth}", {"worker": (1, template)})
    create(tenant, PADDLE_JOBS, "paddlejobs", with_fields(job, depth))


def in_metadata(tenant: Tenant, depth: int, folder: Path) -> None:
    """By a JSON patch: each level of a merge patch is read anew, 9,000 in 5 s of CPU."""
    name = f"deep-{depth}"
    create(tenant, PADDLE_JOBS, "paddlejobs", json.dumps(paddle_job(name, {"worker": (1, WAITS)})))
    patch = folder / "patch"
    fields = managed_fields(API_VERSION, depth)
    patch.write_text(f'[{{"op":"replace","path":"/metadata/managedFields","value":{fields}}}]')
    tenant.kubectl("patch", "pdj", name, "--type=json", f"--patch-file={patch}")


def in_volume(tenant: Tenant, depth: int, _: Path) -> None:
    claim = {
        "metadata": {"managedFields": "DEEP"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    template = shell("exec sleep 3600")
    template["spec"]["volumes"] = [{"name": "v", "ephemeral": {"volumeClaimTemplate": claim}}]
    job = paddle_job(f"deep-{depth}", {"worker": (1, template)})
    create(tenant, PADDLE_JOBS, "paddlejobs", with_fields(job, depth))


def in_pod_group(tenant: Tenant, depth: int, _: Path) -> None:
    labels = {LABEL_JOB_UID: "any"}
    group = {
        "apiVersion": GANG_API_VERSION,
        "kind": "PodGroup",
        "metadata": {"name": f"deep-{depth}", "labels": labels, "managedFields": "DEEP"},
        "spec": {"schedulingPolicy": {"basic": {}}},
    }
    create(tenant, POD_GROUPS, "podgroups", with_fields(group, depth))


PLACES: dict[str, Callable[[Tenant, int, Path], None]] = {
    "template": in_template,
    "metadata": in_metadata,
    "volume": in_volume,
    "PodGroup": in_pod_group,
}


@pytest.mark.parametrize("place", PLACES)
def test_a_neighbour_does_not_notice(plane, labs, tmp_path, place):
    """The tenant's own jobs run where the depth does not matter."""
    tenant, neighbour = tenant_of(labs[0]), labs[1]
    with operator(plane):
        for depth in DEPTHS:
            PLACES[place](tenant, depth, tmp_path)
        run(neighbour, "beside")
        for name in [f"deep-{depth}" for depth in DEPTHS if place in ("template", "metadata")]:
            labs[0].wait(lambda name=name: phase_of(labs[0], name) == "Running", name)
    with operator(plane):
        run(neighbour, "after-restart")


def test_what_no_claim_can_have_keeps_no_pod_from_being_made(plane, labs, tmp_path):
    with operator(plane):
        in_volume(tenant_of(labs[0]), 600, tmp_path)
        labs[0].wait(lambda: labs[0].pods("deep-600"), "the pod")


def phase_of(lab: Lab, job: str) -> str:
    """By kubectl: what is nested so deeply is not for Python's own parser."""
    return lab.kubectl("get", "pdj", job, "-o", "jsonpath={.status.phase}")


def run(lab: Lab, job: str) -> None:
    lab.submit(paddle_job(job, {"worker": (1, WAITS)}))
    lab.wait_phase(job, "Running")
