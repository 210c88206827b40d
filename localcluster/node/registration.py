"""Creates the Node object and its Lease, renews them, and creates them again if they are deleted.

One thread renews both. If the node lifecycle controller has marked the node NotReady, the next
renewal makes it Ready again.
"""

import os
import platform
from dataclasses import dataclass

from kube.errors import ApiError, Invalid
from localcluster.client.rest import APPLY_PATCH, Raw, ServerClient, has_condition
from localcluster.cluster.config import ClusterConfig
from localcluster.machine import clock
from localcluster.node.pod.containers import rfc3339
from localcluster.node.pod.status import keep_times
from localcluster.provision.binaries import KUBERNETES_VERSION

LEASE_SECONDS = 40
NODE_RETRY_SECONDS = 0.2
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
HEALTHY = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID"),
    ("Ready", "True", "KubeletReady"),
)

DECLARED = ["ExtendWebSocketsToKubelet"]
"""With this feature the API server passes a client's WebSocket on, instead of speaking SPDY."""


@dataclass
class Registration:
    """Maintains the Node and its Lease."""

    client: ServerClient
    config: ClusterConfig
    name: str
    address: str
    port: int
    capacity: dict[str, str]
    _uid: str = ""

    def run(self) -> None:
        """Create and renew Node and Lease; if the new Node is invalid, end the process."""
        while True:
            try:
                self._renew()
                clock.sleep(self.config.renew_seconds)
            except ApiError as error:
                print(f"cannot renew the node: {error}", flush=True)
                if not self._uid and isinstance(error, Invalid):
                    os._exit(1)  # a wrong label or capacity stays wrong
                clock.sleep(NODE_RETRY_SECONDS * 5 if self._uid else NODE_RETRY_SECONDS)

    def _renew(self) -> None:
        path = f"/api/v1/nodes/{self.name}"
        node = self.client.find(path)
        if node is None:
            node = self.client.create("/api/v1/nodes", self._build_node())
        elif node["metadata"]["uid"] != self._uid:
            self.client.patch(path, {"metadata": {"labels": self._labels()}})
        if node["metadata"]["uid"] != self._uid or not has_condition(node, "Ready"):
            before = node.get("status", {}).get("conditions") or []
            self.client.patch(f"{path}/status", {"status": self._build_status(before)})
        self._uid = node["metadata"]["uid"]
        self._renew_lease()

    def _labels(self) -> dict[str, str]:
        machine = platform.machine()
        machine = {"aarch64": "arm64", "x86_64": "amd64"}.get(machine, machine)
        return {
            "kubernetes.io/hostname": self.name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": machine,
            **self.config.labels,
        }

    def _build_node(self) -> Raw:
        """The Node object as a kubelet registers it."""
        return {
            "metadata": {"name": self.name, "labels": self._labels()},
            "spec": {"taints": [_parse_taint(each) for each in self.config.taints]},
            "status": self._build_status([]),
        }

    def _build_status(self, before: list[Raw]) -> Raw:
        """The status of a healthy node: addresses, capacity, conditions and machine.

        A condition whose status has not changed keeps its transition time.
        """
        now = rfc3339(clock.now())
        conditions = [
            {"type": kind, "status": status, "reason": reason, "message": reason,
             "lastHeartbeatTime": now}
            for kind, status, reason in HEALTHY
        ]  # fmt: skip
        return {
            "addresses": [
                {"type": "InternalIP", "address": self.address},
                {"type": "Hostname", "address": self.name},
            ],
            "capacity": self.capacity,
            "allocatable": self.capacity,
            "conditions": keep_times(conditions, before, now),
            "declaredFeatures": DECLARED,
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self.port}},
            "nodeInfo": {
                "architecture": platform.machine(),
                "bootID": "",
                "containerRuntimeVersion": f"process://{platform.python_version()}",
                "kernelVersion": platform.release(),
                "kubeProxyVersion": "",
                "kubeletVersion": KUBERNETES_VERSION,
                "machineID": self.name,
                "operatingSystem": "linux",
                "osImage": "Linux processes",
                "systemUUID": self.name,
            },
        }

    def _renew_lease(self) -> None:
        owner = {"apiVersion": "v1", "kind": "Node", "name": self.name, "uid": self._uid}
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self.name, "ownerReferences": [owner]},
            "spec": {
                "holderIdentity": self.name,
                "leaseDurationSeconds": LEASE_SECONDS,
                "renewTime": rfc3339(clock.now()).removesuffix("Z") + ".000000Z",
            },
        }
        path = f"{LEASES}/{self.name}?fieldManager={self.name}&force=true"
        self.client.patch(path, lease, APPLY_PATCH)


def _parse_taint(text: str) -> Raw:
    """Parse `key=value:effect` without a check: the API server validates the taint."""
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    return {"key": key, "value": value, "effect": effect}
