"""Copies of a sample: the bytes of an operator, with names and UIDs of their own."""

import json
from urllib.parse import urlencode

from api.constants import Role
from benchmarks.adapter import Adapter
from benchmarks.family import Copies, Family, Requests, as_requested
from benchmarks.operators import own_operator
from controller.client.api import METADATA_ONLY, UNCHECKED
from kube.client import JSON
from localcluster.client.rest import Raw
from tests.memory import builders
from tests.memory.builders import a_job

JOB_UID = "11111111-1111-1111-1111-111111111111"
POD_UID = "22222222-2222-2222-2222-222222222222"


def a_pod() -> Raw:
    """A pod as the API server shows it."""
    job = a_job("sample", JOB_UID).with_ps(1).build()
    pod = builders.a_pod(job, Role.PS).running(address="10.0.0.7").build()
    pod["metadata"] |= {"uid": POD_UID, "resourceVersion": "17"}
    pod["spec"]["containers"][0] |= {
        "imagePullPolicy": "IfNotPresent",
        "volumeMounts": [{"name": "kube-api-access-x", "mountPath": "/var"}],
    }
    pod["spec"] |= {
        "volumes": [{"name": "kube-api-access-x"}],
        "tolerations": [{"key": "node.kubernetes.io/not-ready"}],
        "priority": 0,
    }
    return pod


def a_family() -> Family:
    job = a_job("sample", JOB_UID).with_status(phase="Running").build()
    return Family(Adapter(), "sample", job, {"pods": [a_pod()], "configmaps": [], "services": []})


def test_what_the_server_added_is_not_asked_for():
    asked = as_requested(a_pod())
    assert asked["spec"] == {"containers": [{"name": "paddle"}], "restartPolicy": "Never"}
    assert set(asked["metadata"]) == {"name", "namespace", "labels", "ownerReferences"}
    assert "status" not in asked


def test_requests_carry_the_new_job():
    [write] = Requests(a_family()).children("other", "new-uid")
    pod = json.loads(write.body)
    assert (write.method, write.path) == ("POST", "/api/v1/namespaces/default/pods")
    assert write.accept == JSON
    assert pod["metadata"]["name"] == "other-ps-0"
    assert pod["metadata"]["ownerReferences"][0]["uid"] == "new-uid"


def test_requests_with_the_operators_options_ask_for_as_little_as_it_does():
    requests = Requests(a_family(), own_operator().adapter.writes)
    [create], patch = requests.children("other", "new-uid"), requests.status("other", "new-uid")
    assert create.path.partition("?")[2] == urlencode(UNCHECKED)
    assert create.accept == patch.accept == METADATA_ONLY
    assert patch.path.endswith("/paddlejobs/other/status")


def test_copies_are_consistent_in_themselves_and_distinct():
    copies = Copies(a_family())
    (_, job), (key, value) = copies.make(1, "copy-1")
    pod, uid = json.loads(value), json.loads(job)["metadata"]["uid"]
    assert key == "/registry/pods/default/copy-1-ps-0"
    assert pod["metadata"]["ownerReferences"][0]["uid"] == uid != JOB_UID
    assert "resourceVersion" not in pod["metadata"]
    other = json.loads(copies.make(2, "copy-2")[1][1])
    assert other["metadata"]["uid"] != pod["metadata"]["uid"]
    assert other["status"]["podIP"] != pod["status"]["podIP"]


def test_addresses_stay_distinct_over_many_copies():
    copies = Copies(a_family())
    numbers = (*range(3_000), *range(65_000, 70_000))  # also those 62,500 and 65,536 apart
    made = {json.loads(copies.make(n, "copy")[1][1])["status"]["podIP"] for n in numbers}
    assert len(made) == len(numbers)
