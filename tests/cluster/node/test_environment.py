"""The environment and the command line of a container, against what a kubelet gives."""

import json
from typing import Any

from localcluster.client.rest import ServerClient
from tests.live.nodepods import IMAGE, Pods, python

DUMP = "import json, os; print(json.dumps(dict(os.environ)))"


def field(path: str) -> dict[str, Any]:
    return {"valueFrom": {"fieldRef": {"fieldPath": path}}}


def resource(name: str, divisor: str = "0") -> dict[str, Any]:
    return {"valueFrom": {"resourceFieldRef": {"resource": name, "divisor": divisor}}}


def key(kind: str, name: str, key: str, **more: bool) -> dict[str, Any]:
    return {"valueFrom": {f"{kind}KeyRef": {"name": name, "key": key, **more}}}


ENV: dict[str, dict[str, Any]] = {
    "NAME": field("metadata.name"),
    "NAMESPACE": field("metadata.namespace"),
    "UID_": field("metadata.uid"),
    "LABEL": field("metadata.labels['a']"),
    "NOTE": field("metadata.annotations['b/c']"),
    "NODE": field("spec.nodeName"),
    "ACCOUNT": field("spec.serviceAccountName"),
    "IP": field("status.podIP"),
    "HOST_IP": field("status.hostIP"),
    "CPU": resource("requests.cpu", "1m"),
    "WHOLE_CPU": resource("requests.cpu"),
    "MEMORY": resource("limits.memory", "1Mi"),
    "NODE_CPU": resource("limits.cpu"),
    "ONE": key("configMap", "c", "A"),
    "WORD": key("secret", "s", "P"),
    "B": {"value": "env wins"},
    "NONE": key("configMap", "c", "Z", optional=True),
    "EARLY": {"value": "$(LATE) $(HOST) $$(HOST)"},
    "HOST": {"value": "h"},
    "LATE": {"value": "$(HOST):1 $(API)"},
    "API": {"value": "$(KUBERNETES_SERVICE_HOST)"},
}
SOURCES: list[dict[str, Any]] = [
    {"configMapRef": {"name": "c"}},
    {"prefix": "S_", "secretRef": {"name": "s"}},
    {"configMapRef": {"name": "absent", "optional": True}},
]


def test_variables(pods: Pods, client: ServerClient) -> None:
    pods.create_config_map("c", A="1", B="2")
    secret = {"metadata": {"name": "s"}, "stringData": {"P": "word"}}
    client.create(f"/api/v1/namespaces/{pods.namespace}/secrets", secret)
    resources = {"requests": {"cpu": "250m"}, "limits": {"memory": "1Gi"}}
    env = [{"name": name} | source for name, source in ENV.items()]
    main = python(DUMP, env=env, envFrom=SOURCES, resources=resources)
    annotations = {"b/c": "note"}
    seen = json.loads(pods.run(main, "env", labels={"a": "label"}, annotations=annotations))
    pod = pods.get("env")
    node = client.get(f"/api/v1/nodes/{pod['spec']['nodeName']}")
    expected = {
        "NAME": "env",
        "NAMESPACE": pods.namespace,
        "UID_": pod["metadata"]["uid"],
        "LABEL": "label",
        "NOTE": "note",
        "NODE": pod["spec"]["nodeName"],
        "ACCOUNT": "default",
        "IP": pod["status"]["podIP"],
        "HOST_IP": pod["status"]["hostIP"],
        "CPU": "250",
        "WHOLE_CPU": "1",
        "MEMORY": "1024",
        "NODE_CPU": node["status"]["allocatable"]["cpu"],
        "A": "1",
        "ONE": "1",
        "WORD": "word",
        "S_P": "word",
        "B": "env wins",
        "NONE": None,
        "EARLY": "$(LATE) $(HOST) $(HOST)",
        "LATE": "h:1 $(API)",
        "API": "10.96.0.1",
        "HOSTNAME": "env",
        "HOME": "/root",
        "KUBERNETES_SERVICE_HOST": "10.96.0.1",
        "KUBERNETES_SERVICE_PORT": "443",
    }
    assert {name: seen.get(name) for name in expected} == expected


COMMANDS: dict[str, tuple[dict[str, Any], str]] = {
    "command": ({"command": ["echo", "$(A)", "$$(A)", "$(B)"]}, "1 $(A) $(B)\n"),
    "args-follow-the-command": ({"command": ["echo"], "args": ["$(A)"]}, "1\n"),
    "args-instead-of-the-images": ({"args": ["sh", "-c", "echo $A"]}, "1\n"),
    "folder": ({"command": ["pwd"], "workingDir": "/made/for/it"}, "/made/for/it\n"),
    "a-relative-program-from-root": ({"command": ["usr/bin/env", "pwd"]}, "/\n"),
}


def test_command_line(pods: Pods) -> None:
    common: dict[str, Any] = {"image": IMAGE, "env": [{"name": "A", "value": "1"}]}
    containers = [{"name": name} | common | fields for name, (fields, _) in COMMANDS.items()]
    pods.create("command", *containers)
    pods.wait_phase("command", "Succeeded")
    printed = {name: pods.log("command", container=name) for name in COMMANDS}
    assert printed == {name: output for name, (_, output) in COMMANDS.items()}


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
    name = f"system:serviceaccount:{pods.namespace}:default"
    assert pods.run(python(script)).split() == [name, pods.namespace]


def test_no_token_where_none_is_wanted(pods: Pods) -> None:
    script = "[ ! -e /var/run/secrets/kubernetes.io/serviceaccount/token ]"
    pods.run(script, automountServiceAccountToken=False)
