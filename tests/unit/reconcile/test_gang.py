"""The gang: who forms it, whose PodGroup it is, and what holds it back."""

import pytest

from api.constants import Role
from api.objects import Raw
from reconcile.model.plan import Settings
from reconcile.objects.gang import GangKind, least_members, own_name, wanted_kind
from tests.memory.builders import JobBuilder, a_job, a_template, view_of
from tests.memory.world import World

VOLCANO = a_template(schedulerName="volcano")
OWN = "train-0123abcd"


def pod_group(name: str = "train", least: int = 2) -> Raw:
    """A PodGroup that a user made."""
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": least},
    }


def volcano_job() -> JobBuilder:
    """A job whose worker template alone names Volcano."""
    return a_job().with_ps(1).with_workers(2, VOLCANO)


@pytest.fixture
def volcano(world: World) -> World:
    world.volcano_served = world.gang_served = True
    world.submit(volcano_job())
    return world


def submit_for_volcano(world: World, job: JobBuilder) -> None:
    """A job under an operator that gives every job to Volcano."""
    world.settings = Settings(scheduling="volcano")
    world.volcano_served = True
    world.submit(job)


@pytest.mark.parametrize(
    ("job", "scheduling", "kind"),
    [
        pytest.param(a_job().with_workers(1), "none", None, id="none"),
        pytest.param(volcano_job(), "none", GangKind.VOLCANO, id="worker-template"),
        pytest.param(
            a_job().with_ps(1, VOLCANO).with_workers(1), "none", None, id="only-the-workers-counts"
        ),
        pytest.param(
            a_job().with_workers(1).with_spec(schedulingPolicy={"minAvailable": 1}),
            "none",
            GangKind.VOLCANO,
            id="policy",
        ),
        pytest.param(a_job().with_workers(1), "volcano", GangKind.VOLCANO, id="flag"),
        pytest.param(a_job().with_workers(1), "kubernetes", GangKind.KUBERNETES, id="in-tree"),
        pytest.param(volcano_job(), "kubernetes", GangKind.VOLCANO, id="template-over-flag"),
    ],
)
def test_gang_is_asked_for(job, scheduling, kind):
    assert wanted_kind(view_of(job, settings=Settings(scheduling=scheduling))) is kind


@pytest.mark.parametrize(
    ("job", "least"),
    [
        pytest.param(a_job().with_ps(2).with_workers(3), 5, id="all"),
        pytest.param(
            a_job().with_workers(3).with_spec(schedulingPolicy={"minAvailable": 2}), 2, id="policy"
        ),
        pytest.param(a_job().with_elastic_workers(3, 2, 4), 2, id="elastic-least"),
    ],
)
def test_least_members(job, least):
    assert least_members(view_of(job)) == least


def test_own_group_comes_first_and_names_the_job(world):
    policy = {"queue": "research", "priorityClass": "high", "minResources": {"cpu": "4"}}
    submit_for_volcano(world, a_job().with_ps(1).with_workers(2).with_spec(schedulingPolicy=policy))
    plan = world.work()
    assert [create.kind for create in plan.creates[0]] == ["PodGroup"]
    group = world.get("PodGroup", OWN)
    assert group["spec"] == {
        "minMember": 3,
        "queue": "research",
        "priorityClassName": "high",
        "minResources": {"cpu": "4"},
    }
    assert group["metadata"]["ownerReferences"][0]["uid"] == "0123abcd-uid"
    assert world.status()["podGroup"] == OWN


def test_every_pod_joins_the_gang(volcano):
    volcano.put(pod_group())
    volcano.settle()
    for pod in volcano.of_kind("Pod"):
        assert pod["spec"]["schedulerName"] == "volcano"
        assert pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "train"


def test_users_group_is_used_as_it_is(volcano):
    before = volcano.put(pod_group())
    volcano.run()
    volcano.kubelet.end_all("worker")
    volcano.settle()
    assert volcano.phase() == "Completed"
    assert volcano.names("PodGroup") == ["train"]
    assert volcano.get("PodGroup", "train") == before


def test_users_group_gets_five_seconds_to_arrive(volcano):
    plan = volcano.settle()
    assert plan.requeue_after == 5
    assert volcano.names("Pod") == []
    assert volcano.condition("Pending")["reason"] == "PodGroupPending"
    volcano.advance(4)
    volcano.put(pod_group())
    volcano.settle()
    assert len(volcano.names("Pod")) == 3
    assert volcano.names("PodGroup") == ["train"]


def test_own_group_stands_in_for_one_that_comes_late_and_stays(volcano):
    volcano.settle()
    volcano.after(5)
    assert (volcano.names("PodGroup"), len(volcano.names("Pod"))) == ([OWN], 3)
    volcano.put(pod_group())
    volcano.settle()
    assert volcano.names("PodGroup") == ["train", OWN]
    assert volcano.status()["podGroup"] == OWN


def test_pods_decide_whose_group_it_is_where_status_is_behind(volcano):
    volcano.put(pod_group())
    volcano.settle()
    volcano.change("PaddleJob", "train", lambda job: job["status"].update(podGroup=OWN))
    volcano.settle()
    assert volcano.names("PodGroup") == ["train"]
    assert volcano.status()["podGroup"] == "train"


@pytest.mark.parametrize(
    ("runs", "condition"), [(False, "Pending"), (True, "Running")], ids=["before", "while it runs"]
)
def test_users_group_that_goes_is_told_and_reported_once_if_the_job_runs(volcano, runs, condition):
    volcano.put(pod_group())
    volcano.run() if runs else volcano.settle()
    volcano.remove("PodGroup", "train")
    volcano.settle()
    volcano.settle()
    assert volcano.names("PodGroup") == []
    told = volcano.condition(condition)
    assert (told["status"], told["reason"]) == ("True", "PodGroupUnavailable")
    assert [event.reason for event in volcano.told].count("PodGroupUnavailable") == runs


def test_group_that_wants_more_than_there_is_holds_the_job(volcano):
    volcano.put(pod_group(least=4))
    volcano.settle()
    assert volcano.names("Pod") == []
    assert volcano.condition("Pending")["reason"] == "PodGroupInvalid"


def test_job_waits_for_volcano(world):
    world.begin(volcano_job())
    assert world.names("Pod") == []
    assert world.condition("Pending")["reason"] == "PodGroupUnavailable"
    world.volcano_served = world.gang_served = True
    world.after(10)
    assert len(world.names("Pod")) == 3


def test_least_members_follow_the_replicas(world):
    submit_for_volcano(world, a_job().with_workers(2).with_spec(suspend=True))
    world.settle()
    world.amend(suspend=False)
    world.change("PodGroup", OWN, lambda group: group["spec"].update(minMember=1))
    world.settle()
    assert world.get("PodGroup", OWN)["spec"]["minMember"] == 2


@pytest.mark.parametrize(
    ("end", "policy", "left"),
    [("complete", None, []), ("suspend", None, []), ("complete", "Never", [OWN])],
    ids=["complete", "suspend", "servers run on"],
)
def test_own_group_gives_its_place_back_with_the_last_pod(world, end, policy, left):
    job = a_job().with_ps(1).with_workers(1).with_spec(cleanPodPolicy=policy)
    submit_for_volcano(world, job)
    world.run()
    if end == "complete":
        world.kubelet.end_all("worker")
    else:
        world.edit_spec(suspend=True)
    world.settle()
    assert world.names("PodGroup") == left


def test_in_tree_gang_names_the_scheduling_group(world):
    world.settings = Settings(scheduling="kubernetes")
    world.gang_served = True
    world.begin(a_job().with_workers(2))
    assert world.get("PodGroup", OWN)["spec"] == {"schedulingPolicy": {"gang": {"minCount": 2}}}
    spec = world.get("Pod", "train-worker-0")["spec"]
    assert spec["schedulingGroup"] == {"podGroupName": OWN}
    assert "schedulerName" not in spec


def test_own_groups_name_is_valid_for_long_jobs():
    name = own_name(view_of(a_job(name="j" * 63).with_role(Role.WORKER, 1)))
    assert len(name) == 63
    assert name.endswith("-0123abcd")
