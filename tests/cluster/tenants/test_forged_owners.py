"""Objects that name another namespace's job as their owner are nobody's.

A tenant knows the UID of a neighbour's job and makes pods, Services, ConfigMaps and PodGroups that
name it, before the job has children of its own and while it runs. The garbage collector takes such
objects away, but not those of a version that the API server does not serve, and none that a
finalizer keeps.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from api.constants import (
    API_VERSION,
    KIND,
    LABEL_ATTEMPT,
    LABEL_INDEX,
    LABEL_JOB_NAME,
    LABEL_JOB_UID,
    LABEL_ROLE,
)
from localcluster import Cluster
from tests.conftest import new_namespace
from tests.live.lab import CORE, Lab, Raw, paddle_job, shell
from tests.live.tenant import Tenant
from tests.live.volcano import API as VOLCANO

SERVED, UNSERVED = API_VERSION, "batch.paddlepaddle.org/v9"
KEPT_BY = ["example.com/kept"]
KINDS = ("pods", "services", "configmaps", "podgroups.scheduling.volcano.sh")


@dataclass(frozen=True, slots=True)
class Trick:
    """What is forged for a job: the kind, and for a pod how it ends and for which attempt."""

    kind: str
    exit_code: int = 0
    attempt: int = 1
    spec: Raw = field(default_factory=dict)


TRICKS = {
    "ended-well": Trick("Pod"),
    "failed": Trick("Pod", exit_code=1),
    "second": Trick("Pod", attempt=2),
    "far": Trick("Pod", exit_code=1, attempt=999),
    "service": Trick("Service", spec={"intranet": "Service"}),
    "addresses": Trick("ConfigMap"),
    "gang": Trick("PodGroup", spec={"schedulingPolicy": {"minAvailable": 1}}),
}
CASES = {
    f"{trick}-{when}": (trick, version)
    for trick in TRICKS
    for when, version in (("kept", SERVED), ("odd", UNSERVED), ("late", UNSERVED))
}
OWN = {
    "misnamed": {"name": "somebody"},
    "misversioned": {"apiVersion": UNSERVED},
}
"""What is wrong with the reference of a pod in the job's own namespace, for attempt 999."""


def job_of(name: str, trick: Trick) -> Raw:
    """The neighbour's job, which waits until the forged objects are there."""
    return paddle_job(name, {"worker": (1, shell("exec sleep 3600"))}, suspend=True, **trick.spec)


def forged(job: Raw, trick: Trick, **wrong: str) -> Raw:
    """What looks like the job's own child but for what is wrong."""
    name, uid = job["metadata"]["name"], job["metadata"]["uid"]
    owner = {"apiVersion": SERVED, "kind": KIND, "name": name, "uid": uid, "controller": True}
    return {
        **BODIES[trick.kind](trick),
        "metadata": {
            "name": name_of(job, trick.kind),
            "finalizers": KEPT_BY,
            "labels": {
                LABEL_JOB_NAME: name,
                LABEL_JOB_UID: uid,
                LABEL_ATTEMPT: str(trick.attempt),
                LABEL_ROLE: "worker",
                LABEL_INDEX: "0",
            },
            "ownerReferences": [owner | wrong],
        },
    }


def name_of(job: Raw, kind: str) -> str:
    name = str(job["metadata"]["name"])
    own_group = f"{name}-{job['metadata']['uid'].replace('-', '')[:8]}"
    return {"ConfigMap": name, "PodGroup": own_group}.get(kind, f"{name}-worker-0")


BODIES = {
    "Pod": lambda trick: {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {**shell(f"exit {trick.exit_code}")["spec"], "restartPolicy": "Never"},
    },
    "Service": lambda _: {
        "apiVersion": "v1",
        "kind": "Service",
        "spec": {"clusterIP": "None", "ports": [{"port": 36000}]},
    },
    "ConfigMap": lambda _: {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "data": {"PADDLE_TRAINER_ENDPOINTS": "192.0.2.1:36000"},
    },
    "PodGroup": lambda _: {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "spec": {"minMember": 1},
    },
}


@pytest.fixture(scope="module")
def tenant(operated: Cluster) -> Iterator[Tenant]:
    """Somebody in a namespace beside that of the jobs."""
    with new_namespace(operated) as namespace:
        tenant = Tenant(operated, namespace)
        yield tenant
        tenant.let_go(*KINDS)


@pytest.fixture(scope="module")
def before(module_lab: Lab, tenant: Tenant) -> Iterator[dict[str, Raw]]:
    """The jobs' status before the tenant forges something for those that run already."""
    lab = module_lab
    lab.submit(*(job_of(name, TRICKS[trick]) for name, (trick, _) in CASES.items()))
    lab.submit(*(job_of(name, TRICKS["far"]) for name in OWN))
    lab.wait_all((*CASES, *OWN), "Suspended")
    forge(lab, tenant, [name for name in CASES if not name.endswith("late")])
    for name, wrong in OWN.items():
        pod = forged(lab.job(name), TRICKS["far"], **wrong)
        pod["metadata"] |= {"name": f"{name}-extra", "finalizers": []}
        lab.submit(pod)
    resume(lab)
    late = [name for name in CASES if name.endswith("late")]
    lab.wait_all(late, "Running")
    statuses = {name: lab.status(name) for name in late}
    forge(lab, tenant, late)
    see_all(lab)
    yield statuses


def forge(lab: Lab, tenant: Tenant, names: list[str]) -> None:
    tricks = [(lab.job(name), *CASES[name]) for name in names]
    tenant.submit(*(forged(job, TRICKS[t], apiVersion=version) for job, t, version in tricks))

    def have_ended() -> bool:
        pods = {pod["metadata"]["name"]: pod for pod in tenant.objects("pods")}
        wanted = [name for name in names if TRICKS[CASES[name][0]].kind == "Pod"]
        return all(
            pods[f"{name}-worker-0"]["status"]["phase"] in ("Succeeded", "Failed")
            for name in wanted
        )

    lab.wait(have_ended, "the forged pods end")


def resume(lab: Lab) -> None:
    lab.kubectl("patch", "pdj", *CASES, *OWN, "--type=merge", "-p", '{"spec":{"suspend":false}}')


def see_all(lab: Lab) -> None:
    """Wait until the operator has looked at every job again, for nothing else wakes them."""
    lab.kubectl("annotate", "pdj", "--all", "looked=again")
    lab.submit(paddle_job("after-all", {"worker": (1, shell("sleep 4"))}))
    lab.wait_completed("after-all")


@pytest.mark.parametrize("name", [*CASES, *OWN])
def test_the_job_runs_with_children_of_its_own(module_lab, before, name):
    lab = module_lab
    status = lab.wait_phase(name, "Running")
    assert status["attempt"] == 1
    assert not status.get("restartCount")
    assert not status.get("failures")
    (pod,) = [p for p in lab.pods(name) if p["metadata"]["name"] == f"{name}-worker-0"]
    data = lab.get(CORE, f"configmaps/{name}")["data"]
    host = f"{name}-worker-0.{lab.namespace}" if "service" in name else pod["status"]["podIP"]
    assert data["PADDLE_TRAINER_ENDPOINTS"] == f"{host}:36000"
    if name.startswith("service"):
        assert lab.get(CORE, f"services/{name}-worker-0")
    if name.startswith("gang"):
        assert lab.get(VOLCANO, f"podgroups/{name_of(lab.job(name), 'PodGroup')}")


def test_what_runs_already_is_not_touched(module_lab: Lab, before: dict[str, Raw]) -> None:
    assert {name: module_lab.status(name) for name in before} == before


@pytest.mark.parametrize("name", OWN)
def test_a_pod_with_a_wrong_reference_is_let_be(module_lab, before, name):
    pod = module_lab.get(CORE, f"pods/{name}-extra")
    assert name == "misnamed" or pod, "the collector takes the misnamed away, the operator neither"


def test_what_the_tenant_made_is_not_touched(module_lab, tenant, before):
    there = {(o["kind"], o["metadata"]["name"]): o["metadata"] for o in tenant.objects(*KINDS)}
    for name, (trick, version) in CASES.items():
        kind = TRICKS[trick].kind
        metadata = there[(kind, name_of(module_lab.job(name), kind))]
        if version == UNSERVED:
            assert "deletionTimestamp" not in metadata, name
