"""The adapter of Kubeflow's training operator: when its job counts as running."""

import pytest

from benchmarks.peers.training_operator import ADAPTER

RUNNING = [{"type": "Created", "status": "True"}, {"type": "Running", "status": "True"}]


def a_status(masters: int, workers: int, conditions: list[dict[str, str]]) -> dict[str, object]:
    counts = {"Master": {"active": masters}, "Worker": {"active": workers}}
    return {"conditions": conditions, "replicaStatuses": counts}


STATES = {
    "not seen yet": (None, ""),
    "pods wait": (a_status(0, 0, RUNNING[:1]), "Created"),
    "one pod waits": (a_status(1, 2, RUNNING), "Created"),
    "all pods run": (a_status(2, 2, RUNNING), "Running"),
    "succeeded": (a_status(0, 2, [*RUNNING, {"type": "Succeeded", "status": "True"}]), "Completed"),
}


@pytest.mark.parametrize(("status", "state"), STATES.values(), ids=STATES)
def test_the_state_of_a_job(status: dict[str, object] | None, state: str) -> None:
    job = ADAPTER.build_job("a", servers=2, workers=2)
    assert ADAPTER.state(job | ({"status": status} if status else {})) == state
