"""Phases, counts and conditions: what the children amount to."""

import pytest

from api.constants import Condition
from api.status import JobStatus
from reconcile.model.plan import Refusal
from reconcile.model.view import View
from reconcile.reconcile import ask
from reconcile.status.summary import summarize
from tests.memory.builders import (
    PodBuilder,
    a_job,
    a_pod,
    cause_of,
    view_of,
)

JOB = a_job().with_workers(2).build()


def worker(index: int = 0, attempt: int = 1) -> PodBuilder:
    """A worker's pod, not bound."""
    return a_pod(JOB, index=index, attempt=attempt)


def status_of(view: View) -> JobStatus:
    return summarize(ask(view)[0])


PHASES = {
    "no-pod": (a_job().with_workers(2), [], "Pending"),
    "one-missing": (a_job().with_workers(2), [worker().running()], "Pending"),
    "one-unscheduled": (a_job().with_workers(2), [worker().bound(), worker(1)], "Pending"),
    "one-starts": (a_job().with_workers(2), [worker().running(), worker(1).bound()], "Starting"),
    "all-run": (a_job().with_workers(2), [worker().running(), worker(1).running()], "Running"),
    "one-done": (a_job().with_workers(2), [worker().ended(0), worker(1).running()], "Completing"),
    "last-attempt-goes": (
        a_job().with_workers(2).with_status(attempt=2),
        [worker().running().deleting()],
        "Restarting",
    ),
    "backs-off": (
        a_job().with_workers(2).with_status(attempt=2).with_condition("Restarting", True),
        [],
        "Restarting",
    ),
    "next-attempt-begins": (
        a_job().with_workers(2).with_status(attempt=2).with_condition("Restarting", True),
        [worker(attempt=2), worker(1, attempt=2)],
        "Pending",
    ),
    "elastic-starts": (a_job().with_elastic_workers(2, 1, 3), [worker().running()], "Pending"),
}


@pytest.mark.parametrize(("job", "pods", "phase"), PHASES.values(), ids=PHASES)
def test_phase_follows_the_pods(job, pods, phase):
    assert status_of(view_of(job, *pods)).phase == phase


def test_roles_are_counted():
    pods = [
        worker(0),
        worker(1).bound(),
        worker(2).running(),
        worker(3).ended(0),
        worker(4).ended(1),
        worker(5).bound().with_status(phase="Unknown").with_condition("Ready", "False", 5),
    ]
    counts = status_of(view_of(a_job().with_workers(6), *pods)).roles
    (role,) = counts.values()
    found = (role.pending, role.starting, role.running, role.succeeded, role.failed, role.unknown)
    assert found == (1, 1, 1, 1, 1, 1)
    assert role.ready == "1/6"
    assert role.completed_indexes == "3"


def test_worker_that_ended_well_is_counted_after_it_is_gone(world):
    world.run(a_job().with_workers(2))
    world.kubelet.see_end("train-worker-0", 0)
    world.kubelet.vanish("train-worker-0")
    world.settle()
    assert world.phase() == "Completing"
    world.kubelet.see_end("train-worker-1", 0)
    assert world.phase() == "Completed"
    assert world.status()["worker"]["succeeded"] == 2


def test_status_names_what_scaling_needs(world):
    world.run(a_job().with_workers(2))
    status = world.status()
    assert status["replicas"] == 2
    assert status["mode"] == "Collective"
    labels = world.get("Pod", "train-worker-0")["metadata"]["labels"]
    wanted = dict(part.split("=") for part in status["selector"].split(","))
    assert wanted.items() <= labels.items()


def test_generation_is_observed_everywhere(world):
    world.begin(a_job().with_workers(1))
    world.amend(backoffLimit=3)
    assert world.status()["observedGeneration"] == 2
    assert {c["observedGeneration"] for c in world.status()["conditions"]} == {2}


def test_conditions_of_others_are_left_alone(world):
    world.begin(a_job().with_workers(1).with_condition("QuotaReserved", True))
    assert world.condition("QuotaReserved")["status"] == "True"


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Completed"},
        {"phase": "Failed"},
        {"conditions": [{"type": "Suspended", "status": "True"}]},
    ],
    ids=["completed", "failed", "suspended"],
)
@pytest.mark.parametrize("is_there", [True, False])
def test_children_that_nobody_may_delete_are_told_while_they_stay(status, is_there):
    builder = a_job().with_workers(1).with_status(attempt=1, **status)
    job = builder.with_spec(suspend="conditions" in status).build()
    refusal = Refusal("Pod", "train-worker-0", "Forbidden", "pods stay", 403, is_delete=True)
    pods = [a_pod(job).running()] if is_there else []
    told = status_of(view_of(job, *pods, refusals=(refusal,)))
    pending = told.condition(Condition.PENDING)
    assert (pending is not None) == is_there
    if pending:
        assert (pending.status, pending.reason) == (True, "DeleteRefused")
        assert cause_of(pending.message) == "Pod train-worker-0: cannot be deleted: pods stay"
    assert told.phase == job["status"].get("phase", "")
