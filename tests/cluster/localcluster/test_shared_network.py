"""Nodes as configured, on a machine that lets nobody make network namespaces: pods share its."""

from collections.abc import Iterator
from typing import Any

import pytest

from localcluster import Cluster, ClusterConfig
from tests.live.nodepods import NODES, Pods, Raw, python, shell
from tests.live.operated import install_crd

JOBS = "/apis/batch.paddlepaddle.org/v1/namespaces/default/paddlejobs"
CONFIG = ClusterConfig(
    nodes=2,
    pod_networks=False,
    node_capacity={"cpu": "3", "nvidia.com/gpu": "2"},
    labels={"zone": "a"},
    taints=["dedicated=training:PreferNoSchedule"],
    config_retry_seconds=600.0,
)


@pytest.fixture(scope="module")
def pods() -> Iterator[Pods]:
    """Pods of a cluster without networks of their own, and without an operator."""
    with Cluster(CONFIG) as cluster:
        install_crd(cluster)
        yield Pods(cluster, "default")


def create_of_job(pods: Pods, job: str, node: int, container: Raw, **spec: Any) -> None:
    """A pod that the job owns, made with the job if that is not there yet."""
    template = {"spec": {"containers": [{"name": "main", "image": "busybox"}]}}
    found = pods.client.find(f"{JOBS}/{job}") or pods.client.create(
        JOBS,
        {"apiVersion": "batch.paddlepaddle.org/v1", "kind": "PaddleJob", "metadata": {"name": job},
         "spec": {"worker": {"replicas": 1, "template": template}}},
    )  # fmt: skip
    owner = {"apiVersion": found["apiVersion"], "kind": "PaddleJob", "name": job}
    owner |= {"uid": found["metadata"]["uid"], "controller": True}
    body = {
        "metadata": {"name": f"{job}-{node}", "ownerReferences": [owner]},
        "spec": {"restartPolicy": "Never", "nodeName": f"node-{node}", "containers": [container]}
        | spec,
    }
    pods.client.create(pods.path, body)


def test_nodes_are_as_configured_and_take_a_pod_at_once(pods: Pods) -> None:
    pods.create("first", shell("exit 0"))
    pods.wait_phase("first", "Succeeded")
    events = pods.cluster.get("/api/v1/namespaces/default/events")["items"]
    assert "FailedScheduling" not in [event["reason"] for event in events]
    nodes = pods.cluster.get("/api/v1/nodes")["items"]
    assert [node["metadata"]["name"] for node in nodes] == ["node-0", "node-1"]
    for node in nodes:
        assert node["metadata"]["labels"]["zone"] == "a"
        assert node["status"]["capacity"].items() >= CONFIG.node_capacity.items()
        assert [taint["key"] for taint in node["spec"]["taints"]] == ["dedicated"]


def test_with_a_long_interval_a_config_map_goes_unnoticed_until_the_pod_changes(pods):
    """As on a real node. News of the pod's status does not hurry it; a change of the pod does."""
    source = {"envFrom": [{"configMapRef": {"name": "later"}}]}
    pods.create("waits", shell("exit 0", **source), nodeName=NODES[0])
    pods.wait_state("waits", "waiting", "CreateContainerConfigError")
    body = {"metadata": {"name": "later"}, "data": {"A": "1"}}
    pods.client.create("/api/v1/namespaces/default/configmaps", body)
    pods.client.patch(f"{pods.path}/waits/status", {"status": {"message": "of someone else"}})
    pods.create("other", shell("exit 0", **source), nodeName=NODES[0])
    pods.wait_phase("other", "Succeeded")
    pods.wait_state("waits", "waiting", "CreateContainerConfigError")
    pods.client.patch(f"{pods.path}/waits", {"metadata": {"annotations": {"look": "again"}}})
    pods.wait_phase("waits", "Succeeded")


def test_pods_have_loopback_addresses_and_reach_the_api_server(pods: Pods) -> None:
    script = """
import os, socket
server = os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"])
socket.create_connection(server).close()
"""
    pods.create("client", python(script))
    pod = pods.wait_phase("client", "Succeeded", "Failed")
    assert pod["status"]["phase"] == "Succeeded"
    assert pod["status"]["podIP"].startswith("127.")


def test_a_second_job_waits_for_the_pods_of_the_first_and_says_so(pods: Pods) -> None:
    create_of_job(pods, "first", 0, shell("until [ -e /tmp/end ]; do sleep 0.1; done"))
    pods.wait_state("first-0", "running")
    create_of_job(pods, "first", 1, shell("sleep 600"))
    pods.wait_state("first-1", "running")
    create_of_job(pods, "second", 1, shell("exit 0"))
    told = pods.wait("second-1", lambda pod: "one job runs at a time" in str(pod["status"]))
    assert "until the pods of default/first have ended" in str(told["status"])
    create_of_job(pods, "third", 1, shell("exit 0"), activeDeadlineSeconds=1)
    assert pods.wait_phase("third-1", "Failed")["status"]["reason"] == "DeadlineExceeded"
    pods.create("of-no-job", shell("exit 0"))
    pods.wait_phase("of-no-job", "Succeeded")
    for name in ("first-0", "first-1"):
        assert pods.get("second-1")["status"]["phase"] == "Pending"
        pods.client.delete(f"{pods.path}/{name}", grace_seconds=0)
    pods.wait_phase("second-1", "Succeeded")
