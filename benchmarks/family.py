"""A job and its children as an operator made them, and copies of it.

The floor creates what the operator creates, byte for byte but for names; the crowd is stored as
the API server stored it. Both come from one sample job that the operator itself has run.
"""

import json
import re
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from benchmarks.adapter import PLAIN, Adapter, Manner
from benchmarks.rest import JSON, MERGE_PATCH, Raw, Rest

NAMESPACE = "default"
KINDS = {"pods": "pods", "configmaps": "configmaps", "services": "services/specs"}
"""The kinds of children that are copied, and where etcd has them."""
_SERVER_METADATA = (
    *("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"),
)
_POD_DEFAULTS: Raw = {
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
    "priority": 0,
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "serviceAccount": "default",
    "serviceAccountName": "default",
    "terminationGracePeriodSeconds": 30,
}
_CONTAINER_DEFAULTS: Raw = {
    "imagePullPolicy": "IfNotPresent",
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_TOKEN_VOLUME = "kube-api-access-"
_UID = re.compile(r'"uid": ?"([0-9a-f-]{36})"')
_POD_IP = re.compile(r'"(10\.\d+\.\d+\.\d+)"')


@dataclass(frozen=True)
class Family:
    """A sample: the job and its children by resource, as the API server shows them."""

    adapter: Adapter
    name: str
    job: Raw
    children: dict[str, list[Raw]]

    @property
    def size(self) -> int:
        """Objects in it."""
        return 1 + sum(len(objects) for objects in self.children.values())


def capture(rest: Rest, adapter: Adapter, name: str) -> Family:
    """Read a job and what it owns."""
    job: Raw = rest.get(adapter.path(NAMESPACE, name))
    children = {
        resource: [
            {"apiVersion": "v1", "kind": answer["kind"].removesuffix("List"), **each}
            for each in answer["items"]
            if _is_owned(each, job["metadata"]["uid"])
        ]
        for resource in KINDS
        for answer in [rest.get(f"/api/v1/namespaces/{NAMESPACE}/{resource}")]
    }
    return Family(adapter, name, job, children)


@dataclass(frozen=True)
class Write:
    """A request that writes."""

    method: str
    path: str
    body: bytes
    content_type: str
    accept: str = ""

    def send(self, rest: Rest) -> bytes:
        """Send it; the answer's body."""
        return rest.call(self.method, self.path, self.body, self.content_type, self.accept)


class Requests:
    """The requests with which an operator made a family, for jobs of other names."""

    def __init__(self, family: Family, manner: Manner = PLAIN) -> None:
        self._adapter = family.adapter
        self._manner = manner
        self._query = f"?{manner.create_query}" if manner.create_query else ""
        self._name = family.name
        self._uid = str(family.job["metadata"]["uid"])
        self._children = [
            (resource, json.dumps(as_requested(each)))
            for resource, objects in family.children.items()
            for each in objects
        ]
        self._status = json.dumps({"status": family.job.get("status") or {}})

    def children(self, name: str, uid: str) -> list[Write]:
        """The creation of each child of a job."""
        return [
            Write(
                "POST",
                f"/api/v1/namespaces/{NAMESPACE}/{resource}{self._query}",
                self._renamed(text, name, uid),
                JSON,
                self._manner.accept,
            )
            for resource, text in self._children
        ]

    def status(self, name: str, uid: str) -> Write:
        """The write of the status that the job has when it runs."""
        path = f"{self._adapter.path(NAMESPACE, name)}/status"
        body = self._renamed(self._status, name, uid)
        return Write("PATCH", path, body, MERGE_PATCH, self._manner.accept)

    def _renamed(self, text: str, name: str, uid: str) -> bytes:
        return text.replace(self._name, name).replace(self._uid, uid).encode()


class Copies:
    """Whole families as etcd stores them, with names, UIDs and addresses of their own."""

    def __init__(self, family: Family) -> None:
        self._name = family.name
        objects = [(etcd_prefix(family.adapter), family.job)]
        for resource, children in family.children.items():
            objects += [(etcd_prefix_of_children(resource), child) for child in children]
        self._objects = [(prefix, json.dumps(_as_stored(obj))) for prefix, obj in objects]
        text = "".join(text for _, text in self._objects)
        self._uids = sorted(set(_UID.findall(text)))
        self._addresses = sorted(set(_POD_IP.findall(text)), key=len, reverse=True)

    def make(self, number: int, name: str) -> list[tuple[str, bytes]]:
        """The (key, value) of every object; `number` sets the copy apart."""
        swaps = {uid: str(uuid4()) for uid in self._uids}
        base = number * len(self._addresses)
        for place, address in enumerate(self._addresses):
            high, low = divmod(base + place, 250)
            swaps[address] = f"10.{100 + high // 250}.{high % 250}.{low}"
        return [
            (prefix + self._child_name(text, name), self._swap(text, name, swaps))
            for prefix, text in self._objects
        ]

    def _child_name(self, text: str, name: str) -> str:
        return str(json.loads(text)["metadata"]["name"]).replace(self._name, name)

    def _swap(self, text: str, name: str, swaps: dict[str, str]) -> bytes:
        for old, new in swaps.items():
            text = text.replace(old, new)
        return text.replace(self._name, name).encode()


def as_requested(obj: Raw) -> Raw:
    """An object without what the API server has added to it."""
    metadata = {k: v for k, v in obj["metadata"].items() if k not in _SERVER_METADATA}
    bare = {key: value for key, value in obj.items() if key not in ("status", "metadata")}
    if obj["kind"] == "Pod":
        bare["spec"] = _requested_pod_spec(obj["spec"])
    if obj["kind"] == "Service":
        added = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
        headless = {"clusterIP": "None"} if obj["spec"].get("clusterIP") == "None" else {}
        bare["spec"] = {k: v for k, v in obj["spec"].items() if k not in added} | headless
    return bare | {"metadata": metadata}


def _requested_pod_spec(spec: Raw) -> Raw:
    kept = _without(spec, _POD_DEFAULTS)
    kept.pop("nodeName", None)
    kept["tolerations"] = [
        each
        for each in spec.get("tolerations", [])
        if not str(each.get("key", "")).startswith("node.kubernetes.io/")
    ]
    kept["volumes"] = _without_token(spec.get("volumes", []))
    for field in ("containers", "initContainers"):
        kept[field] = [_requested_container(each) for each in spec.get(field, [])]
    return {key: value for key, value in kept.items() if value != []}


def _requested_container(container: Raw) -> Raw:
    kept = _without(container, _CONTAINER_DEFAULTS)
    kept["volumeMounts"] = _without_token(container.get("volumeMounts", []))
    return {key: value for key, value in kept.items() if value != []}


def _without(obj: Raw, defaults: Raw) -> Raw:
    missing = object()
    return {key: value for key, value in obj.items() if defaults.get(key, missing) != value}


def _without_token(named: list[Raw]) -> list[Raw]:
    return [each for each in named if not each["name"].startswith(_TOKEN_VOLUME)]


def _as_stored(obj: Raw) -> Raw:
    # The version is etcd's own revision.
    metadata = {k: v for k, v in obj["metadata"].items() if k != "resourceVersion"}
    return {**obj, "metadata": metadata}


def etcd_prefix(adapter: Adapter) -> str:
    """What the keys of the jobs in the namespace of the measurements begin with."""
    return f"/registry/{adapter.group}/{adapter.resource}/{NAMESPACE}/"


def etcd_prefix_of_children(resource: str) -> str:
    """What the keys of children of a kind begin with."""
    return f"/registry/{KINDS[resource]}/{NAMESPACE}/"


def _is_owned(obj: Raw, uid: str) -> bool:
    owners: list[dict[str, Any]] = obj["metadata"].get("ownerReferences") or []
    return any(owner["uid"] == uid for owner in owners)
