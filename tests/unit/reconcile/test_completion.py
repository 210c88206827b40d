"""A job is complete when its workers are; servers never end by themselves."""

import pytest

from api.constants import Role
from reconcile.attempt.completion import find_completion
from tests.memory.builders import a_job, a_pod, view_of


@pytest.mark.parametrize(
    ("job", "ended"),
    [
        pytest.param(a_job().with_workers(2), [0], id="one-of-two"),
        pytest.param(a_job().with_ps(1).with_workers(1), [], id="none"),
    ],
)
def test_job_goes_on_while_a_worker_has_not_ended(job, ended):
    raw = job.build()
    pods = [a_pod(raw, index=index).ended(0) for index in ended]
    assert find_completion(view_of(raw, *pods)) is None


def test_server_that_exits_0_completes_nothing():
    job = a_job().with_ps(1).with_workers(1).build()
    view = view_of(job, a_pod(job, Role.PS).ended(0), a_pod(job).running())
    assert find_completion(view) is None


def test_elastic_workers_that_a_virtual_node_reports_as_succeeded_have_trained():
    """Their pods have no container statuses, and so no times."""
    job = a_job().with_elastic_workers(2, 2, 3)
    ended = [a_pod(job.build(), index=i).bound().with_status(phase="Succeeded") for i in range(2)]
    assert find_completion(view_of(job, *ended)) is not None


@pytest.mark.parametrize(
    ("reasons", "said"),
    [
        (("Completed", "Completed"), ""),
        (("Completed", "OOMKilled"), "train-worker-1"),
        (("OOMKilled", "OOMKilled"), "train-worker-0 (and 1 more)"),
    ],
)
def test_a_worker_that_ended_well_after_a_process_of_it_was_killed_is_named(reasons, said):
    """A shell exits with 0 after its last command, whatever became of the training before."""
    job = a_job().with_workers(2).build()
    ended = (a_pod(job, index=i).ended(0, reason=reason) for i, reason in enumerate(reasons))
    move = find_completion(view_of(job, *ended))
    assert move is not None
    condition = move.status.condition("Completed")
    assert condition is not None
    of_memory = f"; but a process of {said} was killed for lack of memory (OOMKilled)" * bool(said)
    assert condition.message == f"2 workers ended well{of_memory}"
