"""Parts that several entries of the corpus share."""

from typing import Any

Raw = dict[str, Any]

SELECTOR: Raw = {
    "matchLabels": {"app": "train"},
    "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}],
}
NODE_TERM: Raw = {
    "matchExpressions": [{"key": "gpu", "operator": "Gt", "values": ["1"]}],
    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}],
}
POD_TERM: Raw = {
    "labelSelector": SELECTOR,
    "namespaceSelector": SELECTOR,
    "namespaces": ["default"],
    "topologyKey": "kubernetes.io/hostname",
    "matchLabelKeys": ["rev"],
    "mismatchLabelKeys": ["other"],
}
POD_AFFINITY: Raw = {
    "requiredDuringSchedulingIgnoredDuringExecution": [POD_TERM],
    "preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 100, "podAffinityTerm": POD_TERM}
    ],
}
HTTP_GET: Raw = {
    "host": "127.0.0.1",
    "path": "/ok",
    "port": "web",
    "scheme": "HTTP",
    "httpHeaders": [{"name": "X-A", "value": "1"}, {"name": "X-Empty"}],
}
TIMING: Raw = {
    "initialDelaySeconds": 1,
    "periodSeconds": 2,
    "timeoutSeconds": 1,
    "failureThreshold": 3,
    "successThreshold": 1,
}
SECCOMP: Raw = {"type": "Localhost", "localhostProfile": "profiles/a.json"}
APPARMOR: Raw = {"type": "Localhost", "localhostProfile": "a"}
SELINUX: Raw = {"user": "u", "role": "r", "type": "t", "level": "s0"}
WINDOWS: Raw = {
    "gmsaCredentialSpec": "{}",
    "gmsaCredentialSpecName": "gmsa",
    "hostProcess": False,
    "runAsUserName": "User",
}
FIELD: Raw = {"fieldPath": "metadata.name", "apiVersion": "v1"}
RESOURCE: Raw = {"containerName": "main", "resource": "limits.cpu", "divisor": "1m"}
ITEMS: list[Raw] = [{"key": "k", "path": "p", "mode": 0o400}]
DOWNWARD: list[Raw] = [
    {"path": "name", "fieldRef": FIELD, "mode": 0o400},
    {"path": "cpu", "resourceFieldRef": RESOURCE},
]
