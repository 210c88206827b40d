"""A create that took long to fail speaks for the other jobs of its namespace, for a while."""

import pytest

from reconcile.children.slow_create import SPEAKS_SECONDS
from reconcile.model.plan import Refusal
from tests.memory.builders import a_job, plan_of, status_of, view_of

SLOW = Refusal("Pod", "other-worker-3", "InternalError", "webhook: deadline exceeded", 500)
OWN = Refusal("Pod", "train-worker-0", "Forbidden", "exceeded quota", 403)
JOB = a_job().with_workers(2)


def test_other_jobs_say_so_before_they_try_and_try_soon():
    plan = plan_of(view_of(JOB, slow_create=SLOW, slow_seconds=1))
    assert (plan.creates, plan.requeue_after) == ((), 2)
    assert [each.name for each in plan.assumed] == ["train-worker-0"]
    assert "Pod train-worker-0: webhook" in status_of(plan)["message"]
    later = plan_of(
        view_of(JOB, slow_create=SLOW, slow_seconds=3, refusals=plan.assumed, refused_seconds=2)
    )
    assert later.creates
    assert not later.assumed


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param({"slow_seconds": SPEAKS_SECONDS}, id="long-ago"),
        pytest.param({"refusals": (OWN,), "refused_seconds": 60}, id="has-words-of-its-own"),
        pytest.param({"slow_create": Refusal("Service", "a", "x", "y", 500)}, id="another-kind"),
    ],
)
def test_it_holds_up_nobody_else(facts):
    plan = plan_of(view_of(JOB, **{"slow_create": SLOW} | facts))
    assert plan.creates
    assert not plan.assumed


def test_a_job_that_would_create_nothing_now_says_what_it_waits_for_itself():
    job = JOB.with_spec(schedulingPolicy={})
    plan = plan_of(view_of(job, slow_create=SLOW))
    assert not plan.assumed
    assert status_of(plan)["reason"] == "PodGroupUnavailable"
