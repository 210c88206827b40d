"""The pod that a role's template becomes: what is set here, and that all else passes through."""

import pytest

from api.constants import ANNOTATION_WOKEN
from api.objects import Raw
from reconcile.objects.templates import build_pod, replaced_fields
from tests.memory.builders import JobBuilder, a_job, a_template, view_of

GROUP = "batch.paddlepaddle.org"
GPU = {"nvidia.com/gpu": 1}


def pod(job: JobBuilder, name: str = "train-worker-0") -> Raw:
    """The pod with this name as it would be created, without a gang."""
    return build_pod(view_of(job), name, None)


def test_templates_labels_and_annotations_reach_the_pod_but_not_over_ours():
    template = a_template()
    template["metadata"] = {
        "name": "ignored",
        "labels": {
            "paddle-job": "ctr",
            "paddle-res-type": "mine",
            "velero.io/exclude-from-backup": "false",
        },
        "annotations": {"note": "1"},
    }
    metadata = pod(a_job().with_workers(1, template))["metadata"]
    assert metadata["name"] == "train-worker-0"
    assert metadata["labels"]["paddle-job"] == "ctr"
    assert metadata["labels"]["paddle-res-type"] == "worker"
    assert metadata["labels"]["velero.io/exclude-from-backup"] == "false"  # its volumes by Velero
    assert metadata["annotations"]["note"] == "1"


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"nodeSelector": {"gpu": "a100"}}, id="node-selector"),
        pytest.param({"affinity": {"nodeAffinity": {"x": []}}}, id="affinity"),
        pytest.param({"tolerations": [{}], "volumes": [{"emptyDir": {}}]}, id="lists"),
        pytest.param({"schedulerName": "mine"}, id="scheduler"),
        pytest.param({"dnsPolicy": "Default", "unheardOf": {"a": [1]}}, id="unknown-fields"),
        pytest.param({"restartPolicy": "OnFailure"}, id="restart-policy"),
        pytest.param({"hostNetwork": True}, id="host-network"),
    ],
)
def test_pod_spec_passes_through(fields):
    spec = pod(a_job().with_workers(1, a_template(**fields)))["spec"]
    assert {key: spec[key] for key in fields} == fields


def test_container_passes_through():
    container = {
        "name": "paddle",
        "image": "train:1",
        "command": ["python", "train.py", "$(PADDLE_TRAINER_ID)"],
        "resources": {"limits": GPU, "requests": {"cpu": 0.5}},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
    }
    job = a_job().with_workers(1, {"spec": {"containers": [container]}})
    built = pod(job)["spec"]["containers"][0]
    assert {key: built[key] for key in container} == container


@pytest.mark.parametrize(("policy", "result"), [(None, "FallbackToLogsOnError"), ("File", "File")])
def test_last_log_lines_are_kept_unless_the_user_says_otherwise(policy, result):
    template = a_template()
    if policy:
        template["spec"]["containers"][0]["terminationMessagePolicy"] = policy
    built = pod(a_job().with_workers(1, template))
    assert built["spec"]["containers"][0]["terminationMessagePolicy"] == result


@pytest.mark.parametrize(
    ("names", "trainer"), [(["logs", "paddle"], "paddle"), (["main", "logs"], "main")]
)
def test_trainer_container_alone_gets_the_rendezvous(names, trainer):
    template = {"spec": {"containers": [{"name": name, "image": "i"} for name in names]}}
    containers = pod(a_job().with_workers(1, template))["spec"]["containers"]
    assert [c["name"] for c in containers] == names
    assert {c["name"] for c in containers if "env" in c} == {trainer}
    assert {c["name"] for c in containers if "envFrom" in c} == {trainer}


def test_config_map_comes_after_the_users_sources():
    template = a_template()
    mine = {"secretRef": {"name": "mine"}}
    template["spec"]["containers"][0]["envFrom"] = [mine]
    job = a_job().with_workers(1, template).with_status(attempt=2)
    sources = pod(job)["spec"]["containers"][0]["envFrom"]
    assert sources == [mine, {"configMapRef": {"name": "train-attempt-2"}}]


def test_init_containers_and_native_sidecars_get_no_environment():
    sidecar = {"name": "proxy", "image": "p", "restartPolicy": "Always"}
    job = a_job().with_workers(1, a_template(initContainers=[sidecar]))
    built = pod(job)["spec"]["initContainers"][0]
    assert built == sidecar | {"terminationMessagePolicy": "FallbackToLogsOnError"}


def test_host_mode_puts_the_pod_on_its_hosts_network():
    template = a_template()
    template["spec"]["containers"][0]["ports"] = [{"name": "http", "containerPort": 80}]
    job = a_job().with_workers(1, template).with_spec(intranet="Host")
    spec = pod(job.with_status(hostPorts={"train-worker-0": 30100}))["spec"]
    assert spec["hostNetwork"] is True
    assert spec["dnsPolicy"] == "ClusterFirstWithHostNet"
    assert spec["containers"][0]["ports"][1]["hostPort"] == 30100


def test_own_affinity_rules_join_the_templates():
    rule = "preferredDuringSchedulingIgnoredDuringExecution"
    mine = {"weight": 1, "preference": {}}
    template = a_template(affinity={"nodeAffinity": {rule: [mine]}})
    job = a_job().with_workers(1, template).with_status(avoidNodes=["bad"])
    rules = pod(job)["spec"]["affinity"]["nodeAffinity"][rule]
    assert rules[0] == mine
    assert rules[1]["preference"]["matchFields"][0]["values"] == ["bad"]


def test_each_avoided_node_is_named_by_its_own_name():
    """Some clouds give the label of the host name another value. A field takes one value."""
    rule = "preferredDuringSchedulingIgnoredDuringExecution"
    job = a_job().with_workers(1).with_status(avoidNodes=["a", "b"])
    (term,) = pod(job)["spec"]["affinity"]["nodeAffinity"][rule]
    fields = [{"key": "metadata.name", "operator": "NotIn", "values": [node]} for node in "ab"]
    assert term["preference"] == {"matchFields": fields}


@pytest.mark.parametrize(
    ("label", "is_kept"),
    [
        ("app.kubernetes.io/name", True),
        ("app.kubernetes.io/instance", True),
        ("app.kubernetes.io/component", True),
        ("app.kubernetes.io/managed-by", True),
        ("app.kubernetes.io/part-of", True),
        (f"{GROUP}/role", False),
        (f"{GROUP}/job-uid", False),
        ("paddle-res-name", False),
    ],
)
def test_recommended_labels_of_the_template_stay_and_ours_fill_gaps(label, is_kept):
    template = a_template() | {"metadata": {"labels": {label: "mine"}}}
    labels = pod(a_job().with_workers(1, template))["metadata"]["labels"]
    assert (labels[label] == "mine") == is_kept
    usual = pod(a_job().with_workers(1))["metadata"]["labels"]
    assert usual | {label: labels[label]} == labels
    told = replaced_fields(view_of(a_job().with_workers(2, template)), None)
    assert told == ([] if is_kept else [f"worker: metadata.labels.{label}"])


def test_wakes_in_the_annotations_of_a_copied_pod_are_not_counted():
    """The copy's pods would be taken for ones that were woken in vain."""
    copied = {ANNOTATION_WOKEN: "attempt=1,call=3,at=2026-01-02T03:04:05.000000Z", "note": "1"}
    job = a_job().with_workers(2, a_template() | {"metadata": {"annotations": copied}})
    assert pod(job)["metadata"]["annotations"] == {"note": "1", "paddle-resource": "Collective"}
    told = replaced_fields(view_of(job), None)
    assert told == [f"worker: metadata.annotations.{ANNOTATION_WOKEN}"]


REPLACED = {
    "hostname": ({"hostname": "me"}, ["worker: spec.hostname"]),
    "subdomain": ({"subdomain": "us"}, ["worker: spec.subdomain"]),
    "nothing": ({"hostname": "", "tolerations": [{"operator": "Exists"}], "volumes": []}, []),
    "affinity-that-gets-more": ({"affinity": {"nodeAffinity": {"x": [1]}}}, []),
    "policy": ({"restartPolicy": "OnFailure", "dnsPolicy": "Default"}, []),
}


@pytest.mark.parametrize(("fields", "told"), REPLACED.values(), ids=REPLACED)
def test_fields_that_are_replaced_are_named(world, fields, told):
    world.begin(a_job().with_workers(2, a_template(**fields)).with_status(avoidNodes=["a"]))
    assert replaced_fields(view_of(a_job().with_workers(2, a_template(**fields))), None) == told
    said = [event.message for event in world.told if event.reason == "OwnedVariable"]
    assert said == [
        f"the operator sets these fields and drops the template's: {each}" for each in told
    ]


def test_port_of_the_host_is_a_replaced_field():
    template = a_template()
    template["spec"]["containers"][0]["ports"] = [
        {"name": "paddle", "containerPort": 7},
        {"name": "metrics", "containerPort": 8},
    ]
    view = view_of(a_job().with_workers(2, template).with_spec(intranet="Host"))
    path = "worker: spec.containers[paddle].ports[paddle].containerPort"
    assert replaced_fields(view, None) == [path]
