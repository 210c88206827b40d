"""The environment and the command line of a container, against what a kubelet gives."""

import json
from typing import Any

import pytest

from localcluster import Cluster
from localcluster.client.rest import Client
from tests.live.nodepods import IMAGE, NODES, Pods, container_status, python, shell

DUMP = "import json, os; print(json.dumps(dict(os.environ)))"


def field(path: str) -> dict[str, Any]:
    return {"valueFrom": {"fieldRef": {"fieldPath": path}}}


def dump(pods: Pods, env: list[Any], **fields: Any) -> dict[str, str]:
    container = python(DUMP, env=env, **fields)
    metadata: dict[str, Any] = {"name": "env", "labels": {"a": "label"}}
    metadata["annotations"] = {"b/c": "note"}
    spec = {"restartPolicy": "Never", "containers": [container]}
    pods.client.create(pods.path, {"metadata": metadata, "spec": spec})
    pod = pods.wait_phase("env", "Succeeded", "Failed")
    assert pod["status"]["phase"] == "Succeeded", pod["status"]
    variables: dict[str, str] = json.loads(pods.log("env"))
    return variables


def test_fields_of_the_pod(pods: Pods) -> None:
    paths = {
        "NAME": "metadata.name",
        "NAMESPACE": "metadata.namespace",
        "UID_": "metadata.uid",
        "LABEL": "metadata.labels['a']",
        "NOTE": "metadata.annotations['b/c']",
        "NODE": "spec.nodeName",
        "ACCOUNT": "spec.serviceAccountName",
        "IP": "status.podIP",
        "HOST_IP": "status.hostIP",
    }
    seen = dump(pods, [{"name": name} | field(path) for name, path in paths.items()])
    pod = pods.get("env")
    assert {name: seen[name] for name in paths} == {
        "NAME": "env",
        "NAMESPACE": pods.namespace,
        "UID_": pod["metadata"]["uid"],
        "LABEL": "label",
        "NOTE": "note",
        "NODE": pod["spec"]["nodeName"],
        "ACCOUNT": "default",
        "IP": pod["status"]["podIP"],
        "HOST_IP": pod["status"]["hostIP"],
    }


def test_resources_of_the_container(pods: Pods, client: Client) -> None:
    def resource(name: str, divisor: str = "0") -> dict[str, Any]:
        return {"valueFrom": {"resourceFieldRef": {"resource": name, "divisor": divisor}}}

    env = [
        {"name": "CPU"} | resource("requests.cpu", "1m"),
        {"name": "WHOLE_CPU"} | resource("requests.cpu"),
        {"name": "MEMORY"} | resource("limits.memory", "1Mi"),
        {"name": "NODE_CPU"} | resource("limits.cpu"),
    ]
    resources = {"requests": {"cpu": "250m"}, "limits": {"memory": "1Gi"}}
    seen = dump(pods, env, resources=resources)
    cpus = client.get(f"/api/v1/nodes/{NODES[0]}")["status"]["allocatable"]["cpu"]
    assert [seen[each["name"]] for each in env] == ["250", "1", "1024", cpus]


def test_config_maps_and_secrets(pods: Pods, client: Client) -> None:
    path = f"/api/v1/namespaces/{pods.namespace}"
    client.create(f"{path}/configmaps", {"metadata": {"name": "c"}, "data": {"A": "1", "B": "2"}})
    client.create(f"{path}/secrets", {"metadata": {"name": "s"}, "stringData": {"P": "word"}})
    env = [
        {"name": "ONE", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "A"}}},
        {"name": "WORD", "valueFrom": {"secretKeyRef": {"name": "s", "key": "P"}}},
        {"name": "B", "value": "env wins"},
        {
            "name": "NONE",
            "valueFrom": {"configMapKeyRef": {"name": "c", "key": "Z", "optional": True}},
        },
    ]
    sources: list[dict[str, Any]] = [
        {"configMapRef": {"name": "c"}},
        {"prefix": "S_", "secretRef": {"name": "s"}},
        {"configMapRef": {"name": "absent", "optional": True}},
    ]
    seen = dump(pods, env, envFrom=sources)
    assert {name: seen.get(name) for name in ("A", "B", "ONE", "WORD", "S_P", "NONE")} == {
        "A": "1",
        "B": "env wins",
        "ONE": "1",
        "WORD": "word",
        "S_P": "word",
        "NONE": None,
    }


def test_references_in_values(pods: Pods) -> None:
    env = [
        {"name": "EARLY", "value": "$(LATE) $(HOST) $$(HOST)"},
        {"name": "HOST", "value": "h"},
        {"name": "LATE", "value": "$(HOST):1 $(API)"},
        {"name": "API", "value": "$(KUBERNETES_SERVICE_HOST)"},
    ]
    seen = dump(pods, env)
    assert seen["EARLY"] == "$(LATE) $(HOST) $(HOST)"
    assert seen["LATE"] == "h:1 $(API)"
    assert seen["API"] == "10.96.0.1"


def test_what_every_container_has(pods: Pods, cluster: Cluster) -> None:
    seen = dump(pods, [])
    assert seen["HOSTNAME"] == "env"
    assert seen["HOME"] == "/root"
    where = seen["KUBERNETES_SERVICE_HOST"], seen["KUBERNETES_SERVICE_PORT"]
    assert where == ("10.96.0.1", "443")


COMMANDS = [
    pytest.param({"command": ["echo", "$(A)", "$$(A)", "$(B)"]}, "1 $(A) $(B)\n", id="command"),
    pytest.param({"command": ["echo"], "args": ["$(A)"]}, "1\n", id="args follow the command"),
    pytest.param({"args": ["sh", "-c", "echo $A"]}, "1\n", id="args instead of the image's"),
    pytest.param({"command": ["pwd"], "workingDir": "/made/for/it"}, "/made/for/it\n", id="folder"),
    pytest.param({"command": ["usr/bin/env", "pwd"]}, "/\n", id="a relative program, from /"),
]


@pytest.mark.parametrize(("fields", "output"), COMMANDS)
def test_command_line(pods: Pods, fields: dict[str, Any], output: str) -> None:
    container = {"name": "main", "image": IMAGE, "env": [{"name": "A", "value": "1"}]}
    pods.create("command", container | fields)
    pods.wait_phase("command", "Succeeded")
    assert pods.log("command") == output


def test_the_service_account_works_as_in_any_cluster(pods: Pods) -> None:
    script = """
import json, os, ssl, urllib.request
folder = "/var/run/secrets/kubernetes.io/serviceaccount/"
server = f"https://{os.environ['KUBERNETES_SERVICE_HOST']}:{os.environ['KUBERNETES_SERVICE_PORT']}"
review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
headers = {"Authorization": "Bearer " + open(folder + "token").read()}
headers["Content-Type"] = "application/json"
url = server + "/apis/authentication.k8s.io/v1/selfsubjectreviews"
request = urllib.request.Request(url, json.dumps(review).encode(), headers)
context = ssl.create_default_context(cafile=folder + "ca.crt")
answer = json.load(urllib.request.urlopen(request, context=context))
print(answer["status"]["userInfo"]["username"], open(folder + "namespace").read())
"""
    pods.create("client", python(script))
    pods.wait_phase("client", "Succeeded")
    name = f"system:serviceaccount:{pods.namespace}:default"
    assert pods.log("client").split() == [name, pods.namespace]


def test_no_token_where_none_is_wanted(pods: Pods) -> None:
    script = "[ ! -e /var/run/secrets/kubernetes.io/serviceaccount/token ]"
    pods.create("none", shell(script), automountServiceAccountToken=False)
    pod = pods.wait_phase("none", "Succeeded", "Failed")
    assert container_status(pod)["state"]["terminated"]["exitCode"] == 0
