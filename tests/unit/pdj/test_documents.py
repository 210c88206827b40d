"""Files that are changed, converted and shown to others."""

from typing import Any

import pytest

from api.constants import Role
from api.objects import Raw
from pdj.documents.changes import set_field
from pdj.documents.checks import Whose, find_errors
from pdj.documents.convert import convert
from pdj.documents.job import build_job
from pdj.documents.pods import is_quantity
from pdj.documents.reader import Document
from pdj.errors import Usage
from tests.memory.builders import a_job, a_template


@pytest.mark.parametrize(
    ("assignment", "place", "value"),
    [
        ("spec.a=1", ("spec", "a"), 1),
        ("spec.b.c=x=y", ("spec", "b", "c"), "x=y"),
        ("spec.list[1].name=z", ("spec", "list", 1, "name"), "z"),
        ("spec.list[name=one].name=z", ("spec", "list", 0, "name"), "z"),
        ("spec.list[0]=z", ("spec", "list", 0), "z"),
        ("spec.a=", ("spec", "a"), None),
        ("spec.a=2026-01-02", ("spec", "a"), "2026-01-02"),
        ("spec.a={b: [1]}", ("spec", "a"), {"b": [1]}),
        (r"labels.a\.b\.io/c.d=z", ("labels", "a.b.io/c", "d"), "z"),
        (r"spec.list[name=one].x\.y=z", ("spec", "list", 0, "x.y"), "z"),
        ("spec.list[name=a.b].x=z", ("spec", "list", 2, "x"), "z"),
    ],
)
def test_set_changes_the_field_at_a_path(assignment, place, value):
    obj: Any = {"spec": {"list": [{"name": "one"}, {"name": "two"}, {"name": "a.b"}]}}
    set_field(obj, assignment)
    for step in place:
        obj = obj[step]
    assert obj == value


@pytest.mark.parametrize(
    "assignment",
    [
        "",
        "spec",
        "=1",
        "spec.list[7].name=z",
        "spec.a\\=z",
        "spec.new[0]=1",
        "spec.text.x=1",
        "spec.text.x.y=1",
        "spec.a.b.c=[",
        "spec.a=" + "[" * 9999,
    ],
)
def test_set_refuses_what_leads_nowhere(assignment):
    with pytest.raises(Usage, match="--set"):
        set_field({"spec": {"list": [], "text": "a"}}, assignment)


def test_a_plain_job_becomes_workers():
    spec = {"parallelism": 3, "completions": 3, "template": a_template(), "manualSelector": True}
    spec["completionMode"] = "Indexed"
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}
    made, notes = convert(job)
    assert made["spec"]["worker"]["replicas"] == 3
    assert made["spec"]["backoffLimit"] == 6
    template = made["spec"]["worker"]["template"]
    assert template["metadata"]["labels"]["job-name"] == "j"
    assert template["spec"]["containers"][0]["env"][-1]["name"] == "JOB_COMPLETION_INDEX"
    assert [note.partition(":")[0] for note in notes] == [
        "guessed spec.backoffLimit",
        "guessed spec.template.metadata.labels[job-name]",
        "guessed spec.completionMode",
        "dropped spec.manualSelector",
    ]


def test_volcanos_tasks_become_roles():
    tasks = [
        {"name": "pserver", "replicas": 2, "template": a_template()},
        {"name": "trainer", "replicas": 3, "template": a_template(), "maxRetry": 1},
    ]
    policies = [
        {"events": ["PodEvicted", "PodFailed"], "action": "RestartJob"},
        {"event": "PodFailed", "action": "AbortJob"},
    ]
    spec = {"minAvailable": 5, "queue": "q", "plugins": {"ssh": []}, "tasks": tasks}
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "v"}}
    made, notes = convert({**job, "spec": {**spec, "policies": policies}})
    assert {role: made["spec"][role]["replicas"] for role in ("ps", "worker")} == {
        "ps": 2,
        "worker": 3,
    }
    assert made["spec"]["schedulingPolicy"] == {"minAvailable": 5, "queue": "q"}
    assert made["spec"]["backoffLimit"] == 3
    assert {note.split()[1].rstrip(":") for note in notes} == {
        "spec.policies[1]",
        "spec.plugins.ssh",
        "spec.tasks[1].maxRetry",
    }


@pytest.mark.parametrize("scheduler", ["volcano", "default-scheduler", "other"])
def test_a_template_keeps_its_scheduler_or_loses_it_aloud(scheduler):
    template = a_template()
    template["spec"]["schedulerName"] = scheduler
    template["metadata"] = {"name": "x", "creationTimestamp": None, "labels": {"a": "b"}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": template}}
    made, notes = convert(job)
    found = made["spec"]["worker"]["template"]
    assert found["metadata"] == {"labels": {"a": "b"}}
    assert found["spec"].get("schedulerName") == ("volcano" if scheduler == "volcano" else None)
    dropped = [note.split()[1].rstrip(":") for note in notes if note.startswith("dropped")]
    lost = ["spec.template.spec.schedulerName"] if scheduler == "other" else []
    assert dropped == lost


def test_kubeflows_master_is_one_worker_more():
    role = {"replicas": 1, "restartPolicy": "ExitCode", "template": a_template()}
    roles = {"Master": role, "Worker": {**role, "replicas": 2}}
    spec = {"runPolicy": {"cleanPodPolicy": "All"}, "paddleReplicaSpecs": roles}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PaddleJob", "metadata": {"name": "k"}}
    made, notes = convert({**job, "spec": spec})
    assert made["spec"]["worker"]["replicas"] == 3
    assert made["spec"]["cleanPodPolicy"] == "Always"
    assert all(note.startswith("guessed") for note in notes)


def test_job_of_an_image_leaves_open_which_of_its_pods_stay():
    """So it keeps its logs, and its servers end, where the administrator has not set another."""
    counts = {Role.PS: 1, Role.WORKER: 2}
    assert set(build_job("train:1", None, counts, (), (), {})["spec"]) == {"ps", "worker"}


def test_kubeflow_jobs_that_keep_what_has_ended_become_those_of_the_default():
    spec = {
        "runPolicy": {"cleanPodPolicy": "Running"},
        "paddleReplicaSpecs": {"Worker": {"replicas": 2, "template": a_template()}},
    }
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PaddleJob", "metadata": {"name": "k"}}
    made, notes = convert({**job, "spec": spec})
    assert "cleanPodPolicy" not in made["spec"]
    assert notes == []


@pytest.mark.parametrize("value", [{}, {"apiVersion": "v1", "kind": "Pod"}, {"spec": 5}])
def test_what_is_no_job_is_refused(value):
    with pytest.raises(Usage, match="cannot be converted"):
        convert(value)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        *((each, True) for each in (1, 0, "1", "500m", "0.5", ".5", "1.", "8Gi", "1e3", "2E")),
        *((each, True) for each in ("+1", "100n", "3k", "1E-2", " 1Ki ")),
        *((each, False) for each in ("", "banana", "8GB", "1 Gi", "Gi", "1gi", "1e", "0x1", ".")),
    ],
)
def test_quantities_are_those_of_kubernetes(text, is_one):
    assert is_quantity(text) is is_one


def paths_at_fault(template: Raw) -> set[str]:
    """Where the operator would refuse a job of this template."""
    job = a_job().with_workers(2, template).build()
    found = find_errors(Document("f", 1, job, {}))
    assert {error.whose for error in found} == {Whose.OPERATOR}
    return {error.path for error in found}


def test_lint_finds_what_no_pod_may_ask_for():
    resources = {"limits": {"cpu": 1, "memory": "8GB"}, "requests": {"cpu": "two", "memory": "1Gi"}}
    template = a_template(volumes=[{"name": "shm", "emptyDir": {"sizeLimit": "big"}}])
    template["spec"]["containers"][0]["resources"] = resources
    pod = "spec.worker.template.spec"
    assert paths_at_fault(template) == {
        f"{pod}.containers[0].resources.limits.memory",
        f"{pod}.containers[0].resources.requests.cpu",
        f"{pod}.volumes[0].emptyDir.sizeLimit",
    }


def test_lint_names_the_types_of_yaml():
    wrong = {
        "name": 1,
        "labels": [],
        "finalizers": {},
        "generation": "x",
        "annotations": {"说": ""},
    }
    found = find_errors(Document("f", 1, a_job().with_workers(1).build() | {"metadata": wrong}, {}))
    assert {error.path.rpartition(".")[2]: error.message for error in found} == {
        "name": "must be of type string, not integer",
        "labels": "must be of type object, not array",
        "finalizers": "must be of type array, not object",
        "generation": "must be of type integer, not string",
        "说": "'说' is not a valid name in annotations",
    }


def test_lint_finds_names_that_no_pod_may_have():
    template = a_template(
        initContainers=[{"name": "paddle", "image": "busybox:1"}],
        volumes=[{"name": "data", "emptyDir": {}}],
    )
    mounts = [{"name": "data", "mountPath": "/data"}, {"name": "dta", "mountPath": "/more"}]
    env = [{"name": name, "value": "1"} for name in ("EPOCHS", "a.b-c", "学习率", "LR=", "\n")]
    template["spec"]["containers"] = [
        {"name": "paddle", "image": "busybox:1", "volumeMounts": mounts},
        {"name": "Logs", "image": "busybox:1", "env": env},
        {"name": "a" * 64, "image": "busybox:1"},
    ]
    pod = "spec.worker.template.spec.containers"
    assert paths_at_fault(template) == {
        f"{pod}[0].name",
        f"{pod}[0].volumeMounts[1].name",
        f"{pod}[1].name",
        *(f"{pod}[1].env[{at}].name" for at in (2, 3, 4)),
        f"{pod}[2].name",
    }
