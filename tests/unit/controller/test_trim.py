"""What is kept of an object is what a pass reads."""

import copy
from typing import Any

import pytest

from api.constants import (
    ANNOTATION_RESTARTED_AT,
    ANNOTATION_STATIC_RENDEZVOUS,
    LABEL_ATTEMPT,
    LABEL_INDEX,
    LABEL_JOB_UID,
    LABEL_ROLE,
    MAX_ENV_VALUE_BYTES,
    MAX_RESTARTED_AT,
)
from api.job import pod_group_name
from controller.cache.trim import MAX_FINALIZERS, MAX_GROUP_SPEC_BYTES, MAX_TEXT, trim
from controller.client.resources import CONFIG_MAP, PADDLE_JOB, POD, SERVICE, VOLCANO_POD_GROUP
from tests.unit.controller.stored import a_job, a_pod, owner_reference

MANAGED = [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]


def test_a_jobs_spec_and_status_stay_whole():
    job = a_job(status={"phase": "Running"}, spec={"worker": {"template": {"odd": [1]}}})
    whole = copy.deepcopy(job)
    job["metadata"] |= {"managedFields": MANAGED, "annotations": {"a": "b"}, "labels": {"a": "b"}}
    kept = trim(PADDLE_JOB, job)
    assert kept["spec"] == whole["spec"]
    assert kept["status"] == whole["status"]
    assert kept["metadata"] == whole["metadata"]


@pytest.mark.parametrize("name", [ANNOTATION_RESTARTED_AT, ANNOTATION_STATIC_RENDEZVOUS])
def test_of_a_jobs_annotations_stay_the_operators(name):
    job = a_job()
    job["metadata"]["annotations"] = {name: "x" * 100, "a": "b"}
    kept = trim(PADDLE_JOB, job)
    assert kept["metadata"]["annotations"] == {name: "x" * MAX_RESTARTED_AT}


def test_of_templates_of_pods_and_claims_stay_the_metadata_that_these_get():
    metadata = {"labels": {"a": "b"}, "annotations": {"c": "d"}}
    whole = metadata | {"managedFields": MANAGED}
    finalized = {"finalizers": ["e/f"]}

    def a_template(of_pod: dict, of_claim: dict) -> dict:
        claim = {"volumeClaimTemplate": {"metadata": of_claim, "spec": {"a": "b"}}}
        volumes = [{"name": "x"}, {"name": "y", "ephemeral": claim}]
        return {"template": {"metadata": of_pod | finalized, "spec": {"volumes": volumes}}}

    kept = trim(PADDLE_JOB, a_job(spec={"ps": a_template(whole | {"name": "x"}, whole)}))
    assert kept["spec"]["ps"] == a_template(metadata, metadata)


def test_of_another_controllers_job_stays_no_more_than_whose_it_is():
    spec = {"managedBy": "example.com/other", "worker": {"template": {"spec": {"x": "y"}}}}
    status = {"phase": "Running", "mode": "PS", "conditions": [{"type": "x"}]}
    kept = trim(PADDLE_JOB, a_job(spec=spec, status=status))
    assert kept["spec"] == {"managedBy": "example.com/other"}
    assert kept["status"] == {"phase": "Running", "mode": "PS"}


@pytest.mark.parametrize("resource", [PADDLE_JOB, POD, SERVICE, CONFIG_MAP])
def test_kind_and_version_are_filled_in(resource):
    kept = trim(resource, a_pod())
    assert kept["kind"] == resource.kind
    assert kept["apiVersion"] == resource.api_version


def a_full_pod() -> dict:
    pod = a_pod(owner=a_job(), managedFields=MANAGED, annotations={"x": "y" * 1000})
    pod["spec"] = {
        "nodeName": "node-1",
        "restartPolicy": "Never",
        "containers": [{"name": "paddle", "image": "i", "env": [{"name": "A", "value": "b"}]}],
        "initContainers": [{"name": "sidecar", "image": "i", "restartPolicy": "Always"}],
        "volumes": [{"name": "v"}],
    }
    pod["status"] = {
        "phase": "Failed",
        "reason": "Evicted",
        "podIP": "10.0.0.1",
        "qosClass": "BestEffort",
        "conditions": [
            {"type": "DisruptionTarget", "status": "True", "reason": "r", "lastProbeTime": None}
        ],
        "containerStatuses": [
            {"name": "paddle", "imageID": "sha", "state": {"terminated": {"exitCode": 1}}}
        ],
    }
    return pod


def test_of_a_pod_stays_what_tells_how_it_fares():
    kept = trim(POD, a_full_pod())
    assert kept["spec"] == {"nodeName": "node-1", "restartPolicy": "Never"}
    assert kept["status"] == {
        "phase": "Failed",
        "reason": "Evicted",
        "podIP": "10.0.0.1",
        "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "r"}],
        "containerStatuses": [{"name": "paddle", "state": {"terminated": {"exitCode": 1}}}],
    }


@pytest.mark.parametrize(
    ("state", "kept"),
    [
        ({"state": {"running": {}}}, None),
        ({"state": {"terminated": {"exitCode": 1}}}, {"limits": {"memory": "2Gi"}}),
        ({"state": {}, "lastState": {"terminated": {}}}, {"limits": {"memory": "2Gi"}}),
    ],
    ids=["runs", "ended", "restarted"],
)
def test_of_a_containers_resources_stays_the_memory_limit_once_it_ended(state, kept):
    pod = a_full_pod()
    resources = {"limits": {"memory": "2Gi", "cpu": "1"}, "requests": {"memory": "1Gi"}}
    pod["status"]["containerStatuses"] = [{"name": "paddle", "resources": resources, **state}]
    (container,) = trim(POD, pod)["status"]["containerStatuses"]
    assert container.get("resources") == kept


def test_of_what_a_container_waits_for_stays_the_beginning():
    pod = a_full_pod()
    waiting = {"reason": "InvalidImageName", "message": "m" * 400_000}
    pod["status"]["containerStatuses"] = [{"name": "paddle", "state": {"waiting": waiting}}]
    (container,) = trim(POD, pod)["status"]["containerStatuses"]
    assert container["state"] == {"waiting": waiting | {"message": "m" * MAX_TEXT}}


def test_of_metadata_stays_what_tells_whose_it_is():
    pod = a_full_pod()
    kept = trim(POD, copy.deepcopy(pod))["metadata"]
    assert "managedFields" not in kept
    assert "annotations" not in kept
    for field in ("name", "namespace", "uid", "resourceVersion", "ownerReferences"):
        assert kept[field] == pod["metadata"][field]


LABELS = {LABEL_JOB_UID: "u", LABEL_ROLE: "ps", LABEL_INDEX: "0", LABEL_ATTEMPT: "1"}
OWN = owner_reference(a_job())
METADATA: dict[str, tuple[Any, Any]] = {
    "labels": (LABELS | {"a": "b"}, LABELS),
    "finalizers": (["x" * 5000] * 100, ["x" * MAX_TEXT] * MAX_FINALIZERS),
    "ownerReferences": (
        [{"apiVersion": "v1", "kind": "Node", "name": "n" * 100_000, "uid": "u"}, OWN],
        [OWN],
    ),
}


@pytest.mark.parametrize("field", METADATA)
def test_of_a_childs_metadata_stays_what_places_it(field):
    given, kept = METADATA[field]
    assert trim(POD, a_pod(**{field: given}))["metadata"][field] == kept


@pytest.mark.parametrize("field", ["name", "uid"])
def test_an_owner_of_no_possible_name_is_none(field):
    pod = a_pod(owner=a_job())
    pod["metadata"]["ownerReferences"][0][field] = "x" * 100_000
    assert "ownerReferences" not in trim(POD, pod)["metadata"]


ENDPOINTS = "PADDLE_TRAINER_ENDPOINTS"


def a_config_map(name: str = "train", attempt: str = "1", **metadata: Any) -> dict[str, Any]:
    obj = a_pod(owner=a_job(), name=name, labels={LABEL_ATTEMPT: attempt}, **metadata)
    return obj | {"data": {ENDPOINTS: "10.0.0.1:36000", "PADDLE_PORT": "36000"}}


@pytest.mark.parametrize(("name", "attempt"), [("train", "1"), ("train-attempt-12", "12")])
@pytest.mark.parametrize("addresses", [{ENDPOINTS: "10.0.0.1:36000"}, {"PADDLE_IPS": "10.0.0.1"}])
def test_of_a_rendezvous_stay_the_addresses(name, attempt, addresses):
    config_map = a_config_map(name, attempt) | {"data": {**addresses, "PADDLE_PORT": "36000"}}
    assert trim(CONFIG_MAP, config_map)["data"] == addresses


@pytest.mark.parametrize(
    "other",
    [
        a_config_map("any"),
        a_config_map("train", "2"),
        a_config_map("train", "x"),
        a_config_map(ownerReferences=[]),
        a_config_map(deletionTimestamp="2026-01-02T03:04:05Z"),
        a_config_map() | {"data": {ENDPOINTS: "x" * (MAX_ENV_VALUE_BYTES + 1)}},
    ],
    ids=["name", "attempt", "no attempt", "nobody's", "being deleted", "for no variable"],
)
def test_of_another_config_map_stays_no_data(other):
    assert trim(CONFIG_MAP, other)["data"] == {}


def test_of_a_users_pod_group_stay_its_least_members_and_what_is_said_of_it():
    def a_status(message: str) -> dict:
        condition = {"type": "Unschedulable", "message": message}
        return {"phase": "Pending", "conditions": [condition]}

    spec = {"minMember": 3, "minResources": {"cpu": "1"}}
    kept = trim(VOLCANO_POD_GROUP, a_pod() | {"spec": spec, "status": a_status("m" * 9999)})
    assert (kept["spec"], kept["status"]) == ({"minMember": 3}, a_status("m" * MAX_TEXT))


def a_pod_group(name: str, **spec: Any) -> dict[str, Any]:
    return a_pod(owner=a_job(), name=name) | {"spec": {"minMember": 3, **spec}}


OWN_GROUP = pod_group_name(a_job()["metadata"]["name"], a_job()["metadata"]["uid"])
FOLLOWING = {"queue": "q", "minResources": {"cpu": "1"}}
LARGE = {
    "minResources": {f"example.com/{n}": "1" for n in range(MAX_GROUP_SPEC_BYTES // 10)},
}


def test_of_a_jobs_own_pod_group_stays_the_spec_that_follows_the_job():
    kept = trim(VOLCANO_POD_GROUP, a_pod_group(OWN_GROUP, **FOLLOWING, minTaskMember={}))
    assert kept["spec"] == {"minMember": 3, **FOLLOWING}


@pytest.mark.parametrize(
    ("name", "spec"), [("another", FOLLOWING), (OWN_GROUP, LARGE)], ids=["another", "large"]
)
def test_of_another_that_names_the_job_and_of_a_large_one_stay_its_least_members(name, spec):
    kept = trim(VOLCANO_POD_GROUP, a_pod_group(name, **spec))
    assert kept["spec"] == {"minMember": 3}
