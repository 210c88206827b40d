"""Whose turn it is where pods share the machine's network."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from localcluster.cluster.config import ClusterConfig
from localcluster.machine import clock
from localcluster.machine.filelock import FileLock
from localcluster.node.pod.node_context import NodeContext
from localcluster.node.pod.starter import Sandbox
from localcluster.node.pod.turn import Turn
from localcluster.node.pod.worker import PodWorker
from localcluster.node.spec.env import PodFacts

Raw = dict[str, Any]
SECONDS = 60.0


class Server:
    """An API server that has pods; `during` happens once, after it has read them."""

    def __init__(self) -> None:
        self.pods: list[Raw] = []
        self.during: Callable[[], None] = lambda: None
        self.statuses: list[Raw] = []

    def get(self, _path: str) -> Raw:
        found, during = list(self.pods), self.during
        self.during = lambda: None
        during()
        return {"items": found}

    def patch(self, _path: str, body: Raw) -> Raw:
        self.statuses.append(body["status"])
        return {}


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def turn(tmp_path: Path, server: Server) -> Turn:
    """Of a cluster in which the job `first` has its turn, and no pod any more."""
    turn = Turn(tmp_path / "turn", cast(Any, server))
    assert not turn.take(pod("first"))
    return turn


def pod(job: str, **spec: Any) -> Raw:
    owner = {"kind": "PaddleJob", "name": job, "uid": job, "controller": True}
    metadata = {
        "namespace": "ns",
        "name": f"{job}-0",
        "uid": f"{job}-0",
        "ownerReferences": [owner],
    }
    return {
        "metadata": metadata,
        "spec": {"containers": [{"name": "main", "image": "busybox"}]} | spec,
    }


def come(server: Server, turn: Turn, job: str) -> None:
    """A pod of this job is there, and asks for its turn."""
    server.pods.append(pod(job))
    assert not turn.take(pod(job))


def test_nobody_waits_for_an_answer_that_another_waits_for(server, turn):
    free = []

    def try_lock() -> None:
        lock = FileLock(turn.file.with_suffix(".lock"))
        free.append(lock.acquire(wait=False))
        lock.release()

    server.during = try_lock
    assert not turn.take(pod("second"))
    assert free == [True]


def test_a_pod_that_waits_for_its_turn_ends_at_its_deadline(tmp_path, server, turn):
    come(server, turn, "first")
    nothing: Any = SimpleNamespace(
        record=lambda *_: None,
        leave_network=lambda *_: None,
        remove=lambda *_: None,
        remove_file=lambda *_: None,
    )
    client: Any = server
    node = NodeContext(
        "node-0", ClusterConfig(), client, nothing, nothing, nothing, nothing, None, turn
    )
    sandbox = Sandbox(tmp_path / "pod", "pod", PodFacts("127.1.0.2", "127.1.0.1", {}))
    ended: list[PodWorker] = []
    late = pod("second", activeDeadlineSeconds=1)
    late["status"] = {"startTime": "2020-01-01T00:00:00Z"}
    worker = PodWorker(late, sandbox, node, ended.append)
    worker.start()
    assert clock.wait_until(lambda: bool(ended), SECONDS)
    assert server.statuses[-1]["reason"] == "DeadlineExceeded"
