"""What is told in protobuf is what is told in JSON, of everything that the store keeps."""

from collections.abc import Iterator
from typing import Any

import pytest

from controller.cache.trim import trim
from controller.client import protobuf
from controller.client.api import ApiClient, read_events
from controller.client.connection import load_connection
from controller.client.resources import CONFIG_MAP, POD, SERVICE, Resource
from kube.client import JSON, Query
from kube.clock import Clock
from kube.errors import Invalid
from localcluster import Cluster
from metrics import Metrics
from tests.conftest import new_namespace
from tests.live.lab import CORE, Lab, Raw

READ_SECONDS = 30.0
STARTED, ENDED = "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"
CONTAINER = {"name": "paddle", "image": "busybox"}
GATED = {"containers": [CONTAINER], "schedulingGates": [{"name": "example.com/wait"}]}
WAITING = {"waiting": {"reason": "ErrImagePull", "message": "no such image"}}
RUNNING = {"running": {"startedAt": STARTED}}
KILLED = {
    "terminated": {
        "exitCode": 137,
        "signal": 9,
        "reason": "OOMKilled",
        "message": "the last words",
        "startedAt": STARTED,
        "finishedAt": ENDED,
    }
}


def container_status(name: str, state: Raw, **more: Any) -> Raw:
    status = {"name": name, "state": state, "ready": False, "restartCount": 0}
    return {**status, "image": "busybox", "imageID": "sha256:0", **more}


PODS: dict[str, tuple[Raw, Raw]] = {
    "new": (GATED, {}),
    "unschedulable": (
        GATED,
        {
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "0/3 nodes are available",
                    "lastTransitionTime": STARTED,
                }
            ]
        },
    ),
    "runs": (
        {**GATED, "restartPolicy": "OnFailure", "schedulerName": "volcano"},
        {
            "phase": "Running",
            "hostIP": "192.0.2.1",
            "podIP": "10.0.0.1",
            "podIPs": [{"ip": "10.0.0.1"}],
            "startTime": STARTED,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": None}],
            "containerStatuses": [
                container_status("paddle", RUNNING, ready=True, started=True, restartCount=2)
                | {"lastState": KILLED, "resources": {"limits": {"cpu": "1", "memory": "8Gi"}}}
            ],
        },
    ),
    "waits": (
        {**GATED, "initContainers": [{**CONTAINER, "name": "side", "restartPolicy": "Always"}]},
        {
            "initContainerStatuses": [container_status("side", RUNNING, started=False)],
            "containerStatuses": [container_status("paddle", WAITING)],
        },
    ),
    "failed": (
        GATED,
        {
            "phase": "Failed",
            "reason": "Evicted",
            "message": "the node was low on memory",
            "containerStatuses": [container_status("paddle", KILLED)],
        },
    ),
    "on-a-node": ({"containers": [CONTAINER], "nodeName": "no-such-node"}, {}),
}
METADATA: Raw = {
    "labels": {"a": "b", "empty": ""},
    "annotations": {"scheduling.k8s.io/group-name": "gang", "odd": "ü\n"},
    "finalizers": ["example.com/stay"],
}


OTHERS: list[Raw] = [
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": METADATA | {"name": "texts", "finalizers": []},
        "data": {"PADDLE_TRAINERS": "10.0.0.1,10.0.0.2", "empty": "", "odd": "ü\n"},
        "binaryData": {"blob": "AAEC"},
        "immutable": True,
    },
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nothing"}},
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": METADATA | {"name": "headless", "finalizers": []},
        "spec": {"clusterIP": "None", "selector": {"a": "b"}},
    },
]


def a_pod(name: str, spec: Raw) -> Raw:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "controller": False}
    kept = METADATA | {"name": name}
    if name == "new":
        kept["ownerReferences"] = [owner | {"uid": "2a9c1a30-54f4-4d4b-a4b4-8f9a4f5a0a0e"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": kept, "spec": spec}


@pytest.fixture(scope="module")
def pods(cluster: Cluster) -> Iterator[Lab]:
    with new_namespace(cluster) as name:
        lab = Lab(cluster, name)
        lab.wait(lambda: lab.get(CORE, "configmaps/kube-root-ca.crt"), "what every namespace has")
        lab.submit(*OTHERS, *(a_pod(name, spec) for name, (spec, _) in PODS.items()))
        for pod, (_, status) in PODS.items():
            lab.patch(CORE, f"pods/{pod}/status", status=status)
        lab.kubectl("delete", "pod", "failed", "--wait=false", "--grace-period=7")
        yield lab
        for pod in PODS:
            lab.patch(CORE, f"pods/{pod}", metadata={"finalizers": None})


@pytest.fixture(scope="module")
def client(cluster: Cluster) -> Iterator[ApiClient]:
    connection = load_connection(str(cluster.kubeconfig), Clock())
    client = ApiClient(connection, Metrics(), pool_size=2)
    yield client
    client.close()


def watched(client: ApiClient, lab: Lab, accept: str) -> dict[str, Raw]:
    """What a watch from nothing tells of each pod first, as the store would keep it."""
    path = f"{CORE}/namespaces/{lab.namespace}/pods"
    stream = client.stream(path, {"watch": "true"}, READ_SECONDS, accept)
    found: dict[str, Raw] = {}
    for event in read_events(stream):
        assert event["type"] == "ADDED"
        found[event["object"]["metadata"]["name"]] = trim(POD, event["object"])
        if len(found) == len(PODS):
            break
    stream.close()
    stream.release()
    return found


def listed(client: ApiClient, lab: Lab, resource: Resource, accept: str) -> dict[str, Raw]:
    """Everything of a kind, read in pages of two, as the store would keep it."""
    found: dict[str, Raw] = {}
    query: Query = {"limit": 2}
    while True:
        page = client.get(resource.path(lab.namespace), query, accept)
        for item in page.get("items") or ():
            found[item["metadata"]["name"]] = trim(resource, item)
        if not page["metadata"].get("continue"):
            assert int(page["metadata"]["resourceVersion"])
            return found
        query = query | {"continue": page["metadata"]["continue"]}


def without_nothing(value: Any) -> Any:
    """The value without nulls and empty objects: a reader cannot tell them from what is absent."""
    if isinstance(value, dict):
        plain = {key: without_nothing(each) for key, each in value.items()}
        return {key: each for key, each in plain.items() if each not in (None, {})}
    return [without_nothing(each) for each in value] if isinstance(value, list) else value


def test_protobuf_tells_what_json_tells(client: ApiClient, pods: Lab) -> None:
    plain, packed = (watched(client, pods, accept) for accept in (JSON, protobuf.EVENTS))
    assert set(plain) == set(PODS)
    for name, pod in plain.items():
        assert without_nothing(packed[name]) == without_nothing(pod), name


def test_the_answer_is_protobuf_indeed(client: ApiClient, pods: Lab) -> None:
    path = f"{CORE}/namespaces/{pods.namespace}/pods"
    stream = client.stream(path, {"watch": "true"}, READ_SECONDS, protobuf.EVENTS)
    assert stream.headers["content-type"].startswith(protobuf.MEDIA_TYPE)
    stream.close()
    stream.release()


@pytest.mark.parametrize(
    ("resource", "names"),
    [
        (POD, set(PODS)),
        (CONFIG_MAP, {"texts", "nothing", "kube-root-ca.crt"}),
        (SERVICE, {"headless"}),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_a_list_in_protobuf_tells_what_json_tells(client, pods, resource, names, mocker):
    decode = mocker.spy(protobuf, "decode")
    plain, packed = (listed(client, pods, resource, accept) for accept in (JSON, protobuf.ANSWERS))
    assert decode.call_count == (len(names) + 1) // 2
    assert set(plain) == set(packed) == names
    for name, obj in plain.items():
        assert without_nothing(packed[name]) == without_nothing(obj), name


def test_an_error_in_protobuf_is_understood(client: ApiClient, pods: Lab) -> None:
    query: Query = {"limit": 2, "continue": "no token"}
    with pytest.raises(Invalid, match="continue key is not valid") as caught:
        client.get(POD.path(pods.namespace), query, protobuf.ANSWERS)
    assert caught.value.reason == "BadRequest"
