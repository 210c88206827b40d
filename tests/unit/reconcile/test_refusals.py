"""What was refused counts as long as the job wants it."""

from typing import Any

import pytest

from api.constants import Role
from api.job import pod_group_name
from reconcile.children.refusals import drop_moot
from reconcile.model.plan import Child, Refusal
from reconcile.model.view import View, build_view
from tests.memory.builders import JobBuilder, PodBuilder, a_job, a_pod, plan_of, view_of
from tests.memory.world import World

JOB = a_job().with_ps(1).with_workers(3)
WITH_SERVICES = a_job().with_workers(3).with_spec(intranet="Service")
GANG = a_job().with_workers(3).with_spec(schedulingPolicy={})
GROUP = pod_group_name("train", view_of(JOB).job.uid)


def refused(kind: str, name: str, *, is_delete: bool = False) -> Refusal:
    return Refusal(kind, name, "Forbidden", "no", 403, is_delete)


def look(job: JobBuilder, child: Child, *pods: PodBuilder, is_delete: bool = False) -> View:
    return drop_moot(view_of(job, *pods, refusals=(refused(*child, is_delete=is_delete),)))


@pytest.mark.parametrize(
    ("job", "child", "lacks"),
    [
        pytest.param(JOB, ("Pod", "train-worker-2"), True, id="a pod"),
        pytest.param(WITH_SERVICES, ("Service", "train-worker-2"), True, id="a service"),
        pytest.param(JOB, ("ConfigMap", "train"), True, id="the endpoints"),
        pytest.param(GANG, ("PodGroup", GROUP), True, id="its gang's group"),
        pytest.param(JOB, ("Pod", "train-worker-3"), False, id="a pod beyond the replicas"),
        pytest.param(JOB, ("Pod", "train-worker-1"), False, id="a pod that exists"),
        pytest.param(JOB, ("Service", "train-worker-2"), False, id="a service of a job without"),
        pytest.param(JOB, ("ConfigMap", "train-attempt-2"), False, id="another attempt's"),
        pytest.param(JOB, ("PodGroup", GROUP), False, id="the group of a job that is no gang"),
    ],
)
def test_what_was_refused_stands_while_the_job_lacks_it(job, child, lacks):
    view = view_of(job, a_pod(JOB.build(), index=1), refusals=(refused(*child),))
    assert [each.child for each in drop_moot(view).observed.refusals] == [child] * lacks
    assert plan_of(view).moot == (frozenset() if lacks else {child})


def test_pods_of_an_attempt_that_ends_are_no_longer_wanted():
    pods = (a_pod(JOB.build(), index=1), a_pod(JOB.build(), index=2, attempt=2))
    assert not look(JOB, ("Pod", "train-worker-0"), *pods).observed.refusals


def test_a_delete_matters_while_the_child_is_there_and_is_to_go():
    child = ("Pod", "train-ps-0")
    there = a_pod(JOB.build(), Role.PS, attempt=0)
    wanted = a_pod(JOB.build(), Role.PS)
    assert not look(JOB, child, wanted, is_delete=True).observed.refusals
    assert look(JOB, child, there, is_delete=True).observed.refusals
    assert not look(JOB, child, is_delete=True).observed.refusals


def test_a_job_that_was_scaled_down_says_nothing_of_the_pod_that_was_refused(world):
    world.refusals[("Pod", "train-worker-1")] = refused("Pod", "train-worker-1")
    world.begin(a_job().with_workers(2))
    assert world.condition("Pending")["reason"] == "CreateRefused"
    world.kubelet.refuse_to_bind("train-worker-0", "0/3 nodes are available")
    world.edit_spec(worker={**world.job()["spec"]["worker"], "replicas": 1})
    world.after(2)
    assert world.condition("Pending")["reason"] == "Unschedulable"
    assert world.observe().refusals == ()


def pause_of(world: World) -> float:
    return drop_moot(build_view(world.observe(), world.now, world.settings)).pause_seconds


@pytest.mark.parametrize(
    "fields", [{"suspend": True}, {"activeDeadlineSeconds": 1}], ids=["suspended", "ended"]
)
def test_a_job_that_wants_nothing_any_more_has_no_pause(world, fields):
    world.refused_kinds = {"Pod"}
    world.begin(a_job().with_workers(2))
    assert pause_of(world) > 0
    world.edit_spec(**fields)
    world.after(1)
    assert pause_of(world) == 0
    assert world.observe().refusals == ()


@pytest.mark.parametrize(
    ("times", "jobs", "seconds"),
    [
        pytest.param(0, 1, 2, id="refused-nothing-itself"),
        *(
            pytest.param(n, 1, s, id=f"refused-{n}")
            for n, s in ((1, 10), (2, 20), (3, 30), (9, 30))
        ),
        pytest.param(5, 1000, 100, id="a-thousand-jobs-try-ten-a-second"),
        pytest.param(9, 10_000, 300, id="never-longer-than-five-minutes"),
        pytest.param(1, 1000, 10, id="the-first-pause-is-short"),
        pytest.param(10_000, 1, 30, id="for-ever"),
    ],
)
def test_creates_pause_after_a_refusal(times, jobs, seconds):
    quota = Refusal("Pod", "train-worker-0", "Forbidden", "exceeded quota", 403)
    facts: dict[str, Any] = {"refusals": (quota,), "refused_times": times}
    facts["paused_in_namespace"] = jobs
    job = a_job().with_workers(1)
    assert view_of(job, **facts).pause_seconds == seconds
    assert view_of(job, refused_seconds=seconds - 1, **facts).pause_seconds == 1
    assert view_of(job, refused_seconds=seconds + 1, **facts).pause_seconds == 0
    assert view_of(job, refused_seconds=seconds - 6e-14, **facts).pause_seconds == 0
