"""A job with its children as an operator made them, and copies of them.

The floor sends the operator's own requests again with other names and UIDs. The crowd is put into
etcd as the API server stores it. Both are made from sample jobs that the operator itself has run.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import uuid4

from benchmarks.adapter import DEFAULT_WRITES, NAMESPACE, Adapter, WriteOptions
from kube.client import JSON, MERGE_PATCH
from localcluster.client.rest import Raw, ServerClient

KINDS = {"pods": "pods", "configmaps": "configmaps", "services": "services/specs"}
"""The resources of children that are copied, each with the segment of its keys in etcd."""
_SERVER_METADATA = (
    *("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"),
)
_DEFAULTS: Raw = {
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
    "priority": 0,
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "serviceAccount": "default",
    "serviceAccountName": "default",
    "terminationGracePeriodSeconds": 30,
    "imagePullPolicy": "IfNotPresent",
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_CHOSEN = ("nodeName", "clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
"""Fields of a spec whose values the control plane chooses. An exception is "None", with which the
operator makes a Service headless."""
_TOKEN_VOLUME, _TOLERATED = "kube-api-access-", "node.kubernetes.io/"
_UID = re.compile(r'"uid": ?"([0-9a-f-]{36})"')
_POD_IP = re.compile(r'"(10\.\d+\.\d+\.\d+)"')


@dataclass(frozen=True)
class Family:
    """A sample job with its children by resource, as the API server shows them."""

    adapter: Adapter
    name: str
    job: Raw
    children: dict[str, list[Raw]]


def capture(client: ServerClient, adapter: Adapter, name: str) -> Family:
    """Read a job, and the pods, ConfigMaps and Services that it owns."""
    job = client.get(f"{adapter.path}/{name}")
    uid = job["metadata"]["uid"]
    children = {
        resource: [
            {"apiVersion": "v1", "kind": answer["kind"].removesuffix("List"), **each}
            for each in answer["items"]
            if any(owner["uid"] == uid for owner in each["metadata"].get("ownerReferences", []))
        ]
        for resource in KINDS
        for answer in [client.get(f"/api/v1/namespaces/{NAMESPACE}/{resource}")]
    }
    return Family(adapter, name, job, children)


class Write(NamedTuple):
    """A request that writes, as ServerClient.send takes it."""

    method: str
    path: str
    body: bytes
    content_type: str = JSON
    accept: str = JSON


class Requests:
    """The requests with which an operator made a family, rewritten for jobs of other names."""

    def __init__(self, family: Family, writes: WriteOptions = DEFAULT_WRITES) -> None:
        self._family = family
        self._accept = writes.accept
        query = f"?{writes.create_query}" if writes.create_query else ""
        self._children = [
            (f"/api/v1/namespaces/{NAMESPACE}/{resource}{query}", json.dumps(as_requested(each)))
            for resource, objects in family.children.items()
            for each in objects
        ]
        self._status = json.dumps({"status": family.job.get("status") or {}})

    def children(self, name: str, uid: str) -> list[Write]:
        """The request that creates each child of a job."""
        return [
            Write("POST", path, self._renamed(text, name, uid), JSON, self._accept)
            for path, text in self._children
        ]

    def status(self, name: str, uid: str) -> Write:
        """The request that writes the status of a running job."""
        path = f"{self._family.adapter.path}/{name}/status"
        body = self._renamed(self._status, name, uid)
        return Write("PATCH", path, body, MERGE_PATCH, self._accept)

    def _renamed(self, text: str, name: str, uid: str) -> bytes:
        old = self._family
        return text.replace(old.name, name).replace(old.job["metadata"]["uid"], uid).encode()


class Copies:
    """Copies of a family as etcd stores it, each with its own names, UIDs and addresses."""

    def __init__(self, family: Family) -> None:
        self._name = family.name
        objects = [(etcd_prefix(family.adapter), family.job)]
        for resource, children in family.children.items():
            objects += [(etcd_prefix_of_children(resource), child) for child in children]
        self._entries = [
            (prefix + obj["metadata"]["name"], json.dumps(_as_stored(obj)))
            for prefix, obj in objects
        ]
        text = "".join(text for _, text in self._entries)
        self._uids = sorted(set(_UID.findall(text)))
        self._addresses = sorted(set(_POD_IP.findall(text)), key=len, reverse=True)

    def make(self, number: int, name: str) -> list[tuple[str, bytes]]:
        """The (key, value) of every object; `number` identifies the copy."""
        swaps = {uid: str(uuid4()) for uid in self._uids}
        base = number * len(self._addresses)
        for place, address in enumerate(self._addresses):
            high, low = divmod(base + place, 250)
            swaps[address] = f"10.{100 + high // 250}.{high % 250}.{low}"
        swaps[self._name] = name
        return [(key.replace(self._name, name), _swap(text, swaps)) for key, text in self._entries]


def _swap(text: str, swaps: dict[str, str]) -> bytes:
    for old, new in swaps.items():
        text = text.replace(old, new)
    return text.encode()


def as_requested(obj: Raw) -> Raw:
    """An object without what the API server has added to it."""
    metadata = {k: v for k, v in obj["metadata"].items() if k not in _SERVER_METADATA}
    bare = {key: value for key, value in obj.items() if key != "status"}
    if "spec" in obj:
        bare["spec"] = _without_additions(obj["spec"])
    return bare | {"metadata": metadata}


def _without_additions(value: Any) -> Any:
    """A part of a spec without defaults, without values that the control plane has chosen, and
    without lists that are empty then.
    """
    if isinstance(value, list):
        return [_without_additions(each) for each in value if not _is_added(each)]
    if isinstance(value, dict):
        kept = {key: _without_additions(each) for key, each in value.items()}
        return {key: each for key, each in kept.items() if not _is_chosen(key, each)}
    return value


def _is_chosen(key: str, value: Any) -> bool:
    is_default = key in _DEFAULTS and value == _DEFAULTS[key]
    return is_default or value == [] or (key in _CHOSEN and value != "None")


def _is_added(item: Any) -> bool:
    """Whether the API server adds this to every pod: a token's volume or mount, or a toleration."""
    names = (item.get("name", ""), item.get("key", "")) if isinstance(item, dict) else ("", "")
    return names[0].startswith(_TOKEN_VOLUME) or names[1].startswith(_TOLERATED)


def _as_stored(obj: Raw) -> Raw:
    # The API server takes the version from etcd's revision.
    metadata = {k: v for k, v in obj["metadata"].items() if k != "resourceVersion"}
    return {**obj, "metadata": metadata}


def etcd_prefix(adapter: Adapter) -> str:
    """The prefix of the keys of jobs in the namespace of the measurements."""
    return f"/registry/{adapter.group}/{adapter.resource}/{NAMESPACE}/"


def etcd_prefix_of_children(resource: str) -> str:
    """The prefix of the keys of children of one of KINDS."""
    return f"/registry/{KINDS[resource]}/{NAMESPACE}/"
