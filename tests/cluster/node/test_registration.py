"""The Node object, its Lease, and what the scheduler makes of it."""

import pytest

from localcluster.client.rest import ServerClient
from localcluster.machine import clock
from tests.live import patience
from tests.live.nodepods import NODES, Pods, Raw, condition, shell

NODE = f"/api/v1/nodes/{NODES[0]}"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{NODES[0]}"


def test_node_tells_its_address_port_and_labels(client: ServerClient) -> None:
    node = client.get(NODE)
    addresses = {each["type"]: each["address"] for each in node["status"]["addresses"]}
    assert addresses["InternalIP"].startswith("198.1")
    assert addresses["Hostname"] == NODES[0]
    assert node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"] > 0
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == NODES[0]
    assert node["metadata"]["labels"]["disk"] == "fast"


@pytest.mark.parametrize("resource", ["cpu", "memory", "pods", "nvidia.com/gpu"])
def test_node_tells_its_capacity(client: ServerClient, resource: str) -> None:
    status = client.get(NODE)["status"]
    assert status["capacity"][resource] == status["allocatable"][resource] != "0"


def test_conditions_are_those_of_a_healthy_node(client: ServerClient) -> None:
    found = {each["type"]: each["status"] for each in client.get(NODE)["status"]["conditions"]}
    pressures = dict.fromkeys(["MemoryPressure", "DiskPressure", "PIDPressure"], "False")
    assert found == pressures | {"Ready": "True"}


def test_lease_is_held_and_renewed(client: ServerClient) -> None:
    before = client.get(LEASE)["spec"]
    assert before["holderIdentity"] == NODES[0]
    assert clock.wait_until(
        lambda: client.get(LEASE)["spec"]["renewTime"] > before["renewTime"], patience.SECONDS
    )


def test_a_deleted_node_registers_again(client: ServerClient) -> None:
    def is_new() -> bool:
        items: list[Raw] = client.get("/api/v1/nodes")["items"]
        uids = {each["metadata"]["name"]: each["metadata"]["uid"] for each in items}
        return uids.get(NODES[0], old) != old

    old = client.get(NODE)["metadata"]["uid"]
    client.delete(NODE)
    assert clock.wait_until(is_new, patience.SECONDS)


def test_a_node_taken_for_dead_says_that_it_is_not(client: ServerClient) -> None:
    lost = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
    client.patch(f"{NODE}/status", {"status": {"conditions": [lost]}})
    assert clock.wait_until(
        lambda: condition(client.get(NODE), "Ready") == "True", patience.SECONDS
    )


def test_the_scheduler_counts_gpus(pods: Pods) -> None:
    gpu = {"resources": {"limits": {"nvidia.com/gpu": "3"}}}
    for name in ("a", "b", "c"):
        pods.create(name, shell("sleep 3600", **gpu))
    pods.wait_event("FailedScheduling")

    def placed() -> list[str]:
        return sorted(p["spec"]["nodeName"] for p in pods.all() if "nodeName" in p["spec"])

    assert clock.wait_until(lambda: len(placed()) == len(NODES), patience.SECONDS)
    assert placed() == list(NODES)
