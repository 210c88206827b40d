"""Pods that stay Terminating on lost nodes are let go, on others never."""

import pytest

from api.objects import Raw
from reconcile.children.terminating import force_deletes
from tests.memory.builders import a_job, a_pod, view_of

JOB = a_job().with_workers(1).build()


def node(ready: str) -> Raw:
    return {
        "metadata": {"name": "node-1"},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


@pytest.mark.parametrize(
    ("nodes", "seconds", "goes"),
    [
        pytest.param({"node-1": node("Unknown")}, 300, True, id="not-ready"),
        pytest.param({"node-1": node("False")}, 299, False, id="not-long-enough"),
        pytest.param({}, 300, True, id="gone"),
        pytest.param({"node-1": node("True")}, 10_000, False, id="ready"),
        pytest.param(None, 10_000, False, id="nodes-are-not-to-be-read"),
    ],
)
def test_only_pods_of_lost_nodes_are_let_go(nodes, seconds, goes):
    view = view_of(JOB, a_pod(JOB).running().deleting(), seconds=seconds, nodes=nodes)
    assert bool(force_deletes(view)) == goes
    for delete in force_deletes(view):
        assert (delete.target.name, delete.target.uid) == ("train-worker-0", "uid-train-worker-0-1")
        assert delete.grace_seconds == 0


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_pod(JOB).running(), id="live"),
        pytest.param(a_pod(JOB).deleting(), id="unbound"),
    ],
)
def test_other_pods_stay(pod):
    assert force_deletes(view_of(JOB, pod, seconds=10_000, nodes={})) == ()


def test_attempt_goes_on_without_the_lost_node(world):
    world.nodes = {"node-1": node("True")}
    world.run(a_job().with_workers(1))
    world.nodes = {"node-1": node("Unknown")}
    world.kubelet.delete("train-worker-0")
    world.settle()
    plan = world.after(40)
    assert "Pod train-worker-0 on node-1" in world.condition("Pending")["message"]
    assert plan.requeue_after == 290
    world.after(330)
    assert world.names("Pod") == ["train-worker-0"]
    assert world.status()["attempt"] == 2
    assert "ForceDeleted" in {event.reason for event in world.told}
