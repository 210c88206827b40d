"""Every sentence of a job that waits stands in sentences.txt, and docs/status.md shows some."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from api.catalogue.reasons import REASONS
from api.constants import WAITS, Reason
from api.objects import Raw
from reconcile.model.hold import MAX_NEXT_CHARACTERS, Hold
from reconcile.model.plan import FORMER_JOB, OWNERLESS, YOUNG_KIND, Observed, Refusal, Settings
from reconcile.model.view import View
from reconcile.objects.workload import build_workload
from reconcile.reconcile import reconcile
from tests.memory.builders import (
    PodBuilder,
    a_config_map,
    a_job,
    a_pod,
    a_template,
    at,
    stamp,
    status_of,
    view_of,
    wait_of,
)
from tests.memory.former import FINALIZER

DOCS = Path(__file__).parents[3] / "docs"
LISTED = re.findall(
    r"^(\w+): (.*)$", Path(__file__).with_name("sentences.txt").read_text(), re.MULTILINE
)
SENTENCE = re.compile(r"^\| (\w+) \| `(.*)` \|$", re.MULTILINE)
TIME = re.compile(r"\d\d:\d\d:\d\dZ")
GPU = {"limits": {"nvidia.com/gpu": 4}}
JOB = a_job().with_workers(4).build()
FOREGROUND = {"finalizers": ["foregroundDeletion"]}
GONE = a_job().with_workers(2).with_metadata(deletionTimestamp=stamp(), **FOREGROUND).build()
VOLCANOS = (
    a_job()
    .with_workers(4, a_template(schedulerName="volcano"))
    .with_status(startTime=stamp(), attempt=1)
)
QUOTA = (
    'pods "train-worker-1" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, '
    "limited: pods=1"
)
INVALID = 'Pod "train-worker-0" is invalid: spec.containers[0].name: Invalid value: "Paddle": a ...'


def refused(message: str, reason: str = "Forbidden", kind: str = "Pod", **more: bool) -> Hold:
    """What a job says whose child is refused so."""
    name = "train" if kind == "ConfigMap" else "train-worker-0"
    code = 500 if reason == "InternalError" else 403
    refusal = Refusal(kind, name, reason, message, code, **more)
    pods = [a_pod(JOB, attempt=0).running()] if refusal.is_delete else []
    return wait_of(view_of(JOB, *pods, refusals=(refusal,)))


def patch_refused() -> Hold:
    served = {"spec": {"minMember": 1}, "metadata": {"name": "train-0123abcd", "uid": "u"}}
    own = OWN | served | {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}
    refusal = Refusal("PodGroup", "train-0123abcd", "Forbidden", "...", 403, is_patch=True)
    view = view_of(VOLCANOS, volcano_served=True, pod_groups=(own,), refusals=(refusal,))
    return wait_of(view)


def waits(reason: str, message: str = "") -> Hold:
    """What a job says one of whose pods waits so."""
    job = a_job().with_workers(2).build()
    pods = [a_pod(job, index=index).bound().waiting(reason, message) for index in range(2)]
    return wait_of(view_of(job, *pods, config_maps=(a_config_map(),)))


def await_config_map(workers: int) -> Hold:
    """What a job says whose first pod waits for its ConfigMap."""
    job = a_job().with_workers(workers).build()
    pod = a_pod(job).bound().with_address("10.0.0.1")
    text = 'configmap "train" not found'
    return wait_of(view_of(job, pod.waiting("CreateContainerConfigError", text)))


def crashing() -> PodBuilder:
    text = "back-off 10s restarting failed container=logs ..."
    state = {"waiting": {"reason": "CrashLoopBackOff", "message": text}}
    return a_pod(JOB).bound().with_init_container("logs", state)


def initializing() -> PodBuilder:
    state = {"running": {"startedAt": stamp(9)}}
    pod = a_pod(JOB).bound().with_address("10.0.0.1").waiting("PodInitializing")
    return pod.with_condition("Initialized", "False").with_init_container("proxy", state)


def mounting(**more: object) -> Raw:
    volumes = [{"name": "data", "nfs": {}}, {"name": "shm", "emptyDir": {}}]
    return a_job().with_workers(4, a_template(volumes=volumes, **more)).build()


def on_lost_node() -> PodBuilder:
    return a_pod(JOB).running().with_condition("Ready", "False").with_condition("ContainersReady")


def unscheduled(message: str, reason: str = "Unschedulable", **observed: Any) -> Hold:
    template = a_template()
    template["spec"]["containers"][0]["resources"] = GPU
    job = a_job().with_workers(4, template).build()
    pods = [
        a_pod(job, index=index).with_condition(
            "PodScheduled", "False", reason=reason, message=message
        )
        for index in range(2)
    ]
    return wait_of(view_of(job, *pods, **observed))


def partly_placed(*refused: tuple[str, str], refusals: tuple[Refusal, ...] = ()) -> Hold:
    """What a job says of which two pods are placed and another is not."""
    pods = [a_pod(JOB, index=index).bound(f"node-{index}") for index in range(2)]
    for reason, text in refused:
        pod = a_pod(JOB, index=2)
        text = f"0/3 nodes are available: 3 {text}"
        pods.append(pod.with_condition("PodScheduled", "False", reason=reason, message=text))
    return wait_of(view_of(JOB, *pods, refusals=refusals))


def over_quota() -> Refusal:
    return Refusal("Pod", "train-worker-2", "Forbidden", QUOTA, 403)


def given_back() -> Hold:
    job = a_job().with_workers(4).with_status(attempt=3, phase="Pending", givenBack=2)
    return wait_of(view_of(job.with_status(givenBackAt=stamp())))


def overlooked() -> Hold:
    job = a_job().with_workers(4, a_template(schedulerName="volcanoo")).build()
    return wait_of(view_of(job, a_pod(job)))


def restarting(*pods: PodBuilder, seconds: float = 0.0) -> Hold:
    job = (
        a_job()
        .with_workers(4)
        .with_status(attempt=3, restartCount=2, quickRestarts=2, phase="Restarting")
    )
    job.with_condition("Restarting", True)
    return wait_of(view_of(job, *pods, seconds=seconds))


def gang(**observed: object) -> Hold:
    """The message of a job that waits for Volcano, some time after its start."""
    served: dict[str, Any] = {"volcano_served": True} | observed
    return wait_of(view_of(VOLCANOS, seconds=60, **served))


def member() -> Raw:
    """A pod of a PodGroup that its user has deleted."""
    pod = a_pod(JOB).build()
    pod["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "train"}
    return pod


def group(name: str, least: int = 4, **status: object) -> Raw:
    """A PodGroup that nobody has let in."""
    return {"metadata": {"name": name}, "spec": {"minMember": least}, "status": status}


def going(kind: str, **metadata: object) -> Hold:
    """What a deleted job says one child of which stays."""
    metadata = {"name": "train-0123abcd", "uid": "u", "deletionTimestamp": stamp()} | metadata
    children = ({"apiVersion": "v1", "kind": kind, "metadata": metadata},)
    return wait_of(view_of(GONE, pod_groups=children, seconds=60))


def held_by_former() -> Hold:
    held = {**GONE, "metadata": {**GONE["metadata"], "finalizers": [FINALIZER]}}
    return wait_of(view_of(held, seconds=60))


def unreadable() -> Hold:
    observed = Observed({**JOB, "status": {"startTime": "noon"}})
    status = status_of(reconcile(observed, at(0), Settings()))
    cause, _, next_step = status["conditions"][0]["message"].partition("; next: ")
    return Hold(Reason(status["reason"]), cause, next_step)


def full_ports() -> View:
    job = a_job().with_workers(4).with_spec(intranet="Host").with_status(attempt=1)
    return view_of(job, taken_host_ports=frozenset(range(30000, 61000)))


def queued(**observed: Any) -> Hold:
    """A job in a queue without free quota."""
    queue = {"kueue.x-k8s.io/queue-name": "team"}
    job = a_job().with_workers(2).with_metadata(labels=queue)
    settings = Settings(kueue=True)
    new = view_of(job, settings=settings, workloads_served=True)
    condition = {
        "type": "QuotaReserved",
        "status": "False",
        "reason": "WaitingForQuota",
        "message": "insufficient quota for cpu",
    }
    workload = build_workload(new) | {"status": {"conditions": [condition]}}
    return wait_of(view_of(job, settings=settings, workloads=(workload,), **observed))


FULL = {"type": "Unschedulable", "status": "True", "message": "queue default is full"}
OWN = group("train-0123abcd", phase="Pending", conditions=[FULL])
KUBERNETES = Settings(scheduling="kubernetes")
PROTECTION = "scheduling.k8s.io/podgroup-protection"
SAID: dict[str, Callable[[], Hold]] = {
    "no room": lambda: unscheduled("0/3 nodes are available: 3 Insufficient nvidia.com/gpu. ..."),
    "no such node": lambda: unscheduled(
        "0/3 nodes are available: 3 Insufficient nvidia.com/gpu. ...",
        most_devices={"nvidia.com/gpu": 2},
    ),
    "no node": lambda: unscheduled("0/3 nodes are available: 3 node(s) didn't match Pod's ..."),
    "no reason": lambda: unscheduled("0/3 nodes match", reason=""),
    "no claim": lambda: unscheduled(
        '0/3 nodes are available: persistentvolumeclaim "mine" not found. ...'
    ),
    "unbound claim": lambda: unscheduled(
        "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. ..."
    ),
    "no volume bound": lambda: unscheduled(
        'running PreBind plugin "VolumeBinding": binding volumes: ...', "SchedulerError"
    ),
    "no such scheduler": overlooked,
    "no scheduler": lambda: wait_of(view_of(JOB, a_pod(JOB), seconds=120)),
    "init container": lambda: wait_of(view_of(JOB, initializing(), seconds=129)),
    "no device": lambda: wait_of(
        view_of(mounting(resourceClaims=[{"name": "gpu"}]), a_pod(JOB).bound(), seconds=120)
    ),
    "start": lambda: wait_of(view_of(JOB)),
    "rendezvous": lambda: await_config_map(4),
    "rendezvous of one": lambda: await_config_map(1),
    "back-off of a sidecar": lambda: wait_of(view_of(JOB, crashing())),
    "no address": lambda: wait_of(view_of(mounting(), a_pod(JOB).bound(), seconds=120)),
    "lost node": lambda: wait_of(view_of(JOB, on_lost_node())),
    "slow runtime": lambda: waits("CreateContainerError", "context deadline exceeded"),
    "elastic start": lambda: wait_of(view_of(a_job().with_elastic_workers(2, 1, 3))),
    "partly placed": lambda: partly_placed(("Unschedulable", "Insufficient nvidia.com/gpu. ...")),
    "partly in a quota": lambda: partly_placed(refusals=(over_quota(),)),
    "given back": given_back,
    "young kind": lambda: refused("", YOUNG_KIND),
    "quota": lambda: refused(QUOTA),
    "users group": lambda: wait_of(view_of(VOLCANOS, volcano_served=True)),
    "queue": lambda: gang(pod_groups=(OWN,)),
    "no volcano": lambda: gang(volcano_served=False),
    "no gates": lambda: wait_of(view_of(JOB, settings=KUBERNETES)),
    "group gone": lambda: wait_of(view_of(VOLCANOS, member(), volcano_served=True)),
    "too many members": lambda: gang(named_pod_group=group("train", 9)),
    "refused": lambda: refused('violates PodSecurity "restricted:latest": ...'),
    "create unanswered": lambda: refused('failed calling webhook "x": ...', "InternalError"),
    "delete refused": lambda: refused("...", is_delete=True),
    "patch refused": patch_refused,
    "no owner": lambda: refused("a1b2", OWNERLESS),
    "name taken": lambda: refused("", "AlreadyExists"),
    "queued": lambda: queued(workloads_served=True),
    "no Workloads": queued,
    "no right to Workloads": lambda: queued(workloads_forbidden=True),
    "unreadable": unreadable,
    "ports": lambda: wait_of(full_ports()),
    "previous pods": lambda: restarting(a_pod(JOB).running()),
    "previous pod stays": lambda: restarting(a_pod(JOB).running().deleting(), seconds=60),
    "former job": lambda: refused("", FORMER_JOB),
    "finalizer of a gang": lambda: going("PodGroup", finalizers=[PROTECTION]),
    "finalizer": lambda: going("ConfigMap", name="train", finalizers=["example.com/hold"]),
    "former finalizer": held_by_former,
    "back-off": restarting,
    "pull": lambda: waits("ErrImagePull", "..."),
    "image name": lambda: waits("InvalidImageName", "..."),
    "no sandbox": lambda: waits("ContainerCreating", "one job runs at a time: ..."),
    "missing object": lambda: waits("CreateContainerConfigError", 'secret "token" not found'),
    "missing key": lambda: waits(
        "CreateContainerConfigError", "couldn't find key none in ConfigMap ..."
    ),
    "invalid": lambda: refused(INVALID, "Invalid", is_final=True),
}


@pytest.mark.parametrize("name", SAID)
def test_sentence_of_the_code_is_listed(name):
    wait = SAID[name]()
    said = [(reason, TIME.sub("T", sentence)) for reason, sentence in LISTED]
    assert (str(wait.reason), TIME.sub("T", wait.message)) in said, wait.message
    cause, _, next_step = wait.message.partition("; next: ")
    assert cause
    assert next_step == wait.next_step != ""
    assert len(next_step) <= MAX_NEXT_CHARACTERS, "it would be cut"


def test_no_other_sentence_is_listed():
    waits = [SAID[name]() for name in SAID]
    said = {(str(wait.reason), TIME.sub("T", wait.message)) for wait in waits}
    assert {(reason, TIME.sub("T", sentence)) for reason, sentence in LISTED} == said


def test_the_pages_show_some_of_them():
    shown = SENTENCE.findall((DOCS / "status.md").read_text())
    assert len(shown) > 5
    assert {*shown} <= {*LISTED}
    chinese = SENTENCE.findall((DOCS / "status.zh.md").read_text())
    assert [each for each in chinese if each[0] in [*Reason]] == shown


@pytest.mark.parametrize("name", ["quota", "refused", "delete refused", "patch refused"])
def test_a_refusal_says_the_next_step_of_the_catalogue(name):
    hold = SAID[name]()
    assert hold.reason is not None
    assert hold.next_step == REASONS[hold.reason].clause


def test_command_with_the_longest_name_is_whole():
    name, uid = "n" * 63, "a1b2c3d4-0000-4000-8000-000000000000"
    job = a_job(name).with_workers(1).with_status(phase="Pending", attempt=1).build()
    refusal = Refusal("Pod", f"{name}-worker-0", OWNERLESS, uid, 403)
    assert wait_of(view_of(job, refusals=(refusal,))).message.endswith(uid)


def test_every_reason_to_wait_has_a_sentence():
    assert {SAID[name]().reason for name in SAID} == set(WAITS)


def test_sentence_is_bounded():
    wait = refused("x" * 5000, "Invalid", is_final=True)
    assert len(wait.message) < 500
    longest = replace(wait, next_step="y" * 5000)
    assert len(longest.message) < 640
