"""Which pods of the cluster get a worker on the node."""

from types import SimpleNamespace
from typing import Any

import pytest

from api.objects import Raw
from localcluster.node import manager
from localcluster.node.manager import PodManager
from localcluster.node.network import addresses as pool
from localcluster.node.network.addresses import AddressPool
from tests.unit.controller.fakes import eventually


class Worker:
    """A pod's worker that ends when it is told to."""

    started: list["Worker"]

    def __init__(self, pod: Raw, sandbox: Any, _node: Any, on_finish: Any) -> None:
        self.newest, self.address = pod, sandbox.facts.pod_ip
        self.finish = lambda: on_finish(self)

    def start(self) -> None:
        Worker.started.append(self)

    def update(self, pod: Raw) -> None:
        self.newest = pod


def pod(phase: str, policy: str = "Always", **status: str) -> Raw:
    return {
        "metadata": {"name": "pod", "namespace": "default", "uid": "1"},
        "spec": {"nodeName": "node-0", "restartPolicy": policy},
        "status": {"phase": phase, **status},
    }


def test_late_news_of_a_pod_that_has_ended_start_nothing(tmp_path, mocker):
    Worker.started = []
    mocker.patch.object(manager, "PodWorker", Worker)
    context: Any = SimpleNamespace(name="node-0")
    node = PodManager(context, mocker.Mock(), tmp_path / "pods", {})
    node.event("ADDED", pod("Pending"))
    Worker.started[0].finish()
    node.event("MODIFIED", pod("Running"))
    node.event("MODIFIED", pod("Succeeded"))
    assert len(Worker.started) == 1


def test_deletion_that_comes_while_the_worker_of_a_pod_ends_is_not_lost(tmp_path, mocker):
    mocker.patch.object(manager, "PodWorker", Worker)
    deleted: list[Raw] = []
    mocker.patch.object(manager, "delete_pod", lambda _client, pod: deleted.append(pod))
    Worker.started = []
    addresses = mocker.Mock()
    context: Any = SimpleNamespace(name="node-0", client=None)
    node = PodManager(context, addresses, tmp_path, {})
    node.event("ADDED", pod("Pending"))
    going = pod("Running")
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    addresses.release = lambda _: node.event("MODIFIED", going)  # by the informer, just now
    Worker.started[0].finish()
    node.start()
    eventually(lambda: deleted == [going])


@pytest.fixture
def addresses(mocker) -> AddressPool:
    """Of a range that no other process has to leave alone."""
    mocker.patch.object(pool, "claim_name")
    return AddressPool()


def test_a_pod_that_is_not_started_again_keeps_its_address(tmp_path, mocker, addresses):
    Worker.started = []
    mocker.patch.object(manager, "PodWorker", Worker)
    context: Any = SimpleNamespace(name="node-0")
    foreign = "192.0.2.7"
    for policy, phase, keeps in (
        ("Never", "Running", True),
        ("Never", "Pending", False),
        ("OnFailure", "Running", False),
    ):
        node = PodManager(context, addresses, tmp_path / "pods", {})
        node.event("ADDED", pod(phase, policy, podIP=foreign))
        worker = Worker.started.pop()
        assert (worker.address == foreign) == keeps
        worker.finish()
        assert addresses.take() != foreign


def test_an_address_that_a_pod_keeps_is_given_to_no_other(addresses):
    kept = addresses.keep(addresses.take())
    addresses.release(kept)
    assert addresses.keep(kept) == kept
    assert addresses.take() != kept
