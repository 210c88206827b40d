"""Which pods of the cluster get a worker on the node."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from api.objects import Raw
from localcluster.node import manager
from localcluster.node.manager import PodManager


class Worker:
    """A pod's worker that ends when it is told to."""

    started: list["Worker"]

    def __init__(self, pod: Raw, sandbox: Any, _node: Any, on_finish: Any) -> None:
        self.newest = pod
        self.address = sandbox.facts.pod_ip
        self._on_finish = on_finish

    def start(self) -> None:
        Worker.started.append(self)

    def update(self, pod: Raw) -> None:
        self.newest = pod

    def abandon(self) -> None:
        self.finish()

    def finish(self) -> None:
        self._on_finish(self)


class Addresses:
    """One address after the other."""

    node_address = "127.0.1.1"

    def take(self) -> str:
        return "127.0.1.2"

    def release(self, address: str) -> None:
        pass


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PodManager:
    Worker.started = []
    monkeypatch.setattr(manager, "PodWorker", Worker)
    runtime = SimpleNamespace(remove=lambda folders, volumes: None)
    context: Any = SimpleNamespace(name="node-0", runtime=runtime)
    addresses: Any = Addresses()
    return PodManager(context, addresses, tmp_path / "pods", {})


def pod(uid: str = "1", phase: str = "Pending", node_name: str = "node-0") -> Raw:
    return {
        "metadata": {"name": "pod", "namespace": "default", "uid": uid},
        "spec": {"nodeName": node_name},
        "status": {"phase": phase},
    }


def test_late_news_of_a_pod_that_has_ended_start_nothing(node):
    node.event("ADDED", pod())
    Worker.started[0].finish()
    node.event("MODIFIED", pod(phase="Running"))
    node.event("MODIFIED", pod(phase="Succeeded"))
    assert len(Worker.started) == 1


def test_the_next_pod_of_the_name_is_started(node):
    node.event("ADDED", pod())
    Worker.started[0].finish()
    node.event("DELETED", pod(phase="Succeeded"))
    node.event("ADDED", pod(uid="2"))
    assert [worker.newest["metadata"]["uid"] for worker in Worker.started] == ["1", "2"]
