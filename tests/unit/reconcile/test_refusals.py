"""What was refused counts as long as the job wants it."""

import pytest

from api.constants import Role
from api.job import pod_group_name
from reconcile.model.plan import Child, Refusal
from reconcile.model.view import View
from reconcile.status.refusals import moot_refusals, standing_refusals
from tests.memory.builders import JobBuilder, PodBuilder, a_job, a_pod, view_of
from tests.memory.kubelet import Kubelet
from tests.memory.world import World

JOB = a_job().with_ps(1).with_workers(3)
WITH_SERVICES = a_job().with_workers(3).with_spec(intranet="Service")
GANG = a_job().with_workers(3).with_spec(schedulingPolicy={})
GROUP = pod_group_name("train", view_of(JOB).job.uid)


def refused(kind: str, name: str, *, is_delete: bool = False) -> Refusal:
    return Refusal(kind, name, "Forbidden", "no", 403, is_delete)


def look(job: JobBuilder, child: Child, *pods: PodBuilder, is_delete: bool = False) -> View:
    return view_of(job, *pods, refusals=(refused(*child, is_delete=is_delete),))


@pytest.mark.parametrize(
    ("job", "child"),
    [
        pytest.param(JOB, ("Pod", "train-worker-2"), id="a pod"),
        pytest.param(WITH_SERVICES, ("Service", "train-worker-2"), id="a service"),
        pytest.param(JOB, ("ConfigMap", "train"), id="the endpoints"),
        pytest.param(GANG, ("PodGroup", GROUP), id="its gang's group"),
    ],
)
def test_a_child_that_the_job_lacks(job: JobBuilder, child: Child) -> None:
    view = look(job, child)
    assert [each.child for each in standing_refusals(view)] == [child]
    assert moot_refusals(view) == frozenset()


@pytest.mark.parametrize(
    ("job", "child"),
    [
        pytest.param(JOB, ("Pod", "train-worker-3"), id="a pod beyond the replicas"),
        pytest.param(JOB, ("Pod", "train-worker-1"), id="a pod that exists"),
        pytest.param(JOB, ("Service", "train-worker-2"), id="a service of a job without"),
        pytest.param(JOB, ("ConfigMap", "train-attempt-2"), id="endpoints of another attempt"),
        pytest.param(JOB, ("PodGroup", GROUP), id="the group of a job that is no gang"),
    ],
)
def test_a_child_that_the_job_does_not_lack(job: JobBuilder, child: Child) -> None:
    view = look(job, child, a_pod(JOB.build(), index=1))
    assert standing_refusals(view) == ()
    assert moot_refusals(view) == {child}


def test_pods_of_an_attempt_that_ends_are_no_longer_wanted() -> None:
    pods = (a_pod(JOB.build(), index=1), a_pod(JOB.build(), index=2, attempt=2))
    assert standing_refusals(look(JOB, ("Pod", "train-worker-0"), *pods)) == ()


def test_a_delete_matters_while_the_child_is_there() -> None:
    child = ("Pod", "train-ps-0")
    there = a_pod(JOB.build(), Role.PS)
    assert standing_refusals(look(JOB, child, there, is_delete=True))
    assert moot_refusals(look(JOB, child, is_delete=True)) == {child}


def test_a_job_that_was_scaled_down_says_nothing_of_the_pod_that_was_refused(
    world: World, kubelet: Kubelet
) -> None:
    world.refusals[("Pod", "train-worker-1")] = refused("Pod", "train-worker-1")
    world.submit(a_job().with_workers(2))
    world.settle()
    assert world.condition("Pending")["reason"] == "CreateRefused"
    kubelet.refuse_to_bind("train-worker-0", "0/3 nodes are available")
    world.edit_spec(worker={**world.job()["spec"]["worker"], "replicas": 1})
    world.advance(2)
    world.settle()
    assert world.condition("Pending")["reason"] == "Unschedulable"
    assert world.observe().refusals == ()


@pytest.mark.parametrize(
    "fields", [{"suspend": True}, {"activeDeadlineSeconds": 1}], ids=["suspended", "ended"]
)
def test_a_job_that_wants_nothing_any_more_has_no_pause(world: World, fields: dict) -> None:
    world.refused_kinds = {"Pod"}
    world.submit(a_job().with_workers(2))
    world.settle()
    assert world.observe().pause_seconds > 0
    world.edit_spec(**fields)
    world.advance(1)
    world.settle()
    assert world.observe().pause_seconds == 0
    assert world.observe().refusals == ()
