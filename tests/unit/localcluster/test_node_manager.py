"""Which pods of the cluster get a worker on the node."""

from types import SimpleNamespace
from typing import Any

from api.objects import Raw
from localcluster.node import manager
from localcluster.node.manager import PodManager


class Worker:
    """A pod's worker that ends when it is told to."""

    started: list["Worker"]

    def __init__(self, pod: Raw, sandbox: Any, _node: Any, on_finish: Any) -> None:
        self.newest, self.address = pod, sandbox.facts.pod_ip
        self.finish = lambda: on_finish(self)

    def start(self) -> None:
        Worker.started.append(self)


def pod(phase: str) -> Raw:
    return {
        "metadata": {"name": "pod", "namespace": "default", "uid": "1"},
        "spec": {"nodeName": "node-0"},
        "status": {"phase": phase},
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
