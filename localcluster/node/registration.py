"""The node's own object and its Lease: made, kept true, and made again when someone deletes them.

One thread renews both; a cluster whose node lifecycle controller gave the node up sees it Ready
again at the next renewal.
"""

import os
import platform
import threading
from dataclasses import dataclass, field
from typing import Any

from localcluster import clock
from localcluster.node.client import CONNECTION_ERRORS, ApiError, Client, Raw
from localcluster.node.containers import rfc3339

LEASE_SECONDS = 40
RENEW_SECONDS = 10.0
REFUSED = (400, 422)
"""A node that is refused so was not configured well."""
HEARTBEAT_SECONDS = 300.0
RETRY_SECONDS = 0.2
KUBELET_VERSION = "v1.36.3"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
HEALTHY = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID"),
    ("Ready", "True", "KubeletReady"),
)


@dataclass(frozen=True)
class NodeFacts:
    """What the node says of itself."""

    name: str
    address: str
    port: int
    capacity: dict[str, str]
    labels: dict[str, str] = field(default_factory=dict)
    taints: list[Raw] = field(default_factory=list)
    renew_seconds: float = RENEW_SECONDS


def build_node(facts: NodeFacts, now: str) -> Raw:
    """The Node object as a kubelet registers it. Pure but for what the machine is."""
    machine = {"aarch64": "arm64", "x86_64": "amd64"}.get(platform.machine(), platform.machine())
    labels = {
        "kubernetes.io/hostname": facts.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": machine,
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": machine,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": facts.name, "labels": labels | facts.labels},
        "spec": {"taints": facts.taints} if facts.taints else {},
        "status": build_status(facts, now),
    }


def build_status(facts: NodeFacts, now: str) -> Raw:
    """Addresses, capacity, conditions and the machine: a node that is well."""
    conditions = [
        {"type": kind, "status": status, "reason": reason, "message": reason,
         "lastHeartbeatTime": now, "lastTransitionTime": now}
        for kind, status, reason in HEALTHY
    ]  # fmt: skip
    system = os.uname()
    return {
        "addresses": [
            {"type": "InternalIP", "address": facts.address},
            {"type": "Hostname", "address": facts.name},
        ],
        "capacity": facts.capacity,
        "allocatable": facts.capacity,
        "conditions": conditions,
        "daemonEndpoints": {"kubeletEndpoint": {"Port": facts.port}},
        "nodeInfo": {
            "architecture": platform.machine(),
            "bootID": "",
            "containerRuntimeVersion": f"process://{platform.python_version()}",
            "kernelVersion": system.release,
            "kubeProxyVersion": "",
            "kubeletVersion": KUBELET_VERSION,
            "machineID": facts.name,
            "operatingSystem": "linux",
            "osImage": "Linux processes",
            "systemUUID": facts.name,
        },
    }


class Registration(threading.Thread):
    """Keeps Node and Lease."""

    def __init__(self, client: Client, facts: NodeFacts) -> None:
        super().__init__(name="registration", daemon=True)
        self._client = client
        self._facts = facts
        self._path = f"/api/v1/nodes/{facts.name}"
        self._uid = ""
        self._next_heartbeat = 0.0

    def run(self) -> None:
        """Renew Node and Lease until the process ends."""
        while True:
            try:
                self._renew()
                clock.sleep(self._facts.renew_seconds)
            except (ApiError, *CONNECTION_ERRORS) as error:
                print(f"cannot renew the node: {error}", flush=True)
                if not self._uid and isinstance(error, ApiError) and error.status in REFUSED:
                    os._exit(1)  # no retry mends a wrong label or capacity
                clock.sleep(RETRY_SECONDS * 5 if self._uid else RETRY_SECONDS)

    def _renew(self) -> None:
        node = self._find()
        if node is None:
            node = self._client.create("/api/v1/nodes", build_node(self._facts, self._now()))
        elif node["metadata"]["uid"] != self._uid:
            wanted = build_node(self._facts, self._now())
            self._client.patch(self._path, {"metadata": {"labels": wanted["metadata"]["labels"]}})
        if node["metadata"]["uid"] != self._uid or not _is_ready(node) or self._is_due():
            self._client.patch(f"{self._path}/status", {"status": self._status(node)})
            self._next_heartbeat = clock.monotonic() + HEARTBEAT_SECONDS
        self._uid = node["metadata"]["uid"]
        self._renew_lease()

    def _is_due(self) -> bool:
        return clock.monotonic() >= self._next_heartbeat

    def _now(self) -> str:
        return rfc3339(clock.now())

    def _find(self) -> Raw | None:
        try:
            return self._client.get(self._path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def _status(self, node: Raw) -> Raw:
        """The status now; a condition that stays keeps its transition time."""
        status = build_status(self._facts, self._now())
        before = {each["type"]: each for each in node.get("status", {}).get("conditions") or []}
        for condition in status["conditions"]:
            old: dict[str, Any] = before.get(condition["type"], {})
            if old.get("status") == condition["status"]:
                condition["lastTransitionTime"] = old["lastTransitionTime"]
        return status

    def _renew_lease(self) -> None:
        moment = self._now().removesuffix("Z") + ".000000Z"
        spec = {
            "holderIdentity": self._facts.name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": moment,
        }
        owner = {"apiVersion": "v1", "kind": "Node", "name": self._facts.name, "uid": self._uid}
        try:
            self._client.patch(f"{LEASES}/{self._facts.name}", {"spec": spec})
        except ApiError as error:
            if error.status != 404:
                raise
            metadata = {
                "name": self._facts.name,
                "namespace": "kube-node-lease",
                "ownerReferences": [owner],
            }
            self._client.create(LEASES, {"metadata": metadata, "spec": spec})


def _is_ready(node: Raw) -> bool:
    conditions = node.get("status", {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
