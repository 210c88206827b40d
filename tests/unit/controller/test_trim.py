"""What is kept of an object is what a pass reads."""

import copy

import pytest

from controller.resources import CONFIG_MAP, PADDLE_JOB, POD, SERVICE
from controller.trim import trim
from tests.unit.controller.builders import a_job, a_pod

MANAGED = [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def test_a_jobs_spec_and_status_stay_whole():
    job = a_job(status={"phase": "Running"}, spec={"worker": {"template": {"odd": [1]}}})
    whole = copy.deepcopy(job)
    job["metadata"] |= {"managedFields": MANAGED, "annotations": {LAST_APPLIED: "{}", "a": "b"}}
    kept = trim(PADDLE_JOB, job)
    assert kept["spec"] == whole["spec"]
    assert kept["status"] == whole["status"]
    assert kept["metadata"] == whole["metadata"] | {"annotations": {"a": "b"}}


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
    assert kept["spec"] == {
        "nodeName": "node-1",
        "restartPolicy": "Never",
        "containers": [{"name": "paddle"}],
        "initContainers": [{"name": "sidecar", "restartPolicy": "Always"}],
    }
    assert kept["status"] == {
        "phase": "Failed",
        "reason": "Evicted",
        "podIP": "10.0.0.1",
        "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "r"}],
        "containerStatuses": [{"name": "paddle", "state": {"terminated": {"exitCode": 1}}}],
    }


def test_of_metadata_stays_what_tells_whose_it_is():
    pod = a_full_pod()
    kept = trim(POD, copy.deepcopy(pod))["metadata"]
    assert "managedFields" not in kept
    assert "annotations" not in kept
    for field in ("name", "namespace", "uid", "resourceVersion", "labels", "ownerReferences"):
        assert kept[field] == pod["metadata"][field]


def test_a_config_map_keeps_its_data():
    assert trim(CONFIG_MAP, {"metadata": {}, "data": {"A": "b"}})["data"] == {"A": "b"}
