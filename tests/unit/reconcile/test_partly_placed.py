"""A job of which only some pods find room gives them back, and tries again later."""

from itertools import pairwise

import pytest

from api.constants import Condition, Phase
from api.objects import Raw, name_of, parse_time
from reconcile.children.partly_placed import back_off_seconds
from reconcile.model.plan import Settings
from tests.faults.scenario import SETTINGS, Scenario
from tests.memory.builders import NOW, JobBuilder, a_job, a_template
from tests.memory.world import World

FULL = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
HELD_SECONDS = Settings().give_back_after_seconds


def place_one(world: World, job: JobBuilder | None = None) -> None:
    """Submit a job, or go on with the one that there is, of which only pod 0 finds a node."""
    world.begin(job) if job else world.settle()
    world.kubelet.bind("train-worker-0", "node-7")
    world.kubelet.give_address("train-worker-0")
    world.kubelet.refuse_to_bind("train-worker-1", FULL)
    world.settle()


def give_back(world: World) -> None:
    """Let the job hold its pod for as long as it is allowed to, and see it go."""
    world.after(HELD_SECONDS)
    world.kubelet.let_go()


def next_try(world: World) -> None:
    """Wait for the end of the back-off."""
    status = world.status()
    since = parse_time(status["givenBackAt"])
    assert since is not None
    due = back_off_seconds(world.job()["metadata"]["uid"], status["givenBack"])
    world.after(due - (world.now - since).total_seconds())


def counters(world: World) -> Raw:
    """What a restart would have changed."""
    names = ("restartCount", "fruitlessRestarts", "quickRestarts", "failureCount", "failures")
    return {name: world.status()[name] for name in names if name in world.status()}


def test_it_says_what_it_holds_and_gives_it_back_uncharged(world):
    place_one(world, a_job().with_workers(2))
    pending = world.condition("Pending")
    assert (pending["status"], pending["reason"]) == ("True", "PartlyPlaced")
    assert "1 of 2 pods hold room on node-7 (1) and cannot start" in pending["message"]
    assert FULL in pending["message"]
    assert "at 03:09:05Z the job deletes its pods" in pending["message"]
    world.after(HELD_SECONDS - 1)
    assert world.names("Pod") == ["train-worker-0", "train-worker-1"]
    world.after(1)
    world.kubelet.let_go()
    assert world.names("Pod") == []
    assert counters(world) == {}
    assert (world.phase(), world.condition("Restarting")) == (Phase.PENDING, {})
    assert [event.reason for event in world.told].count("PartlyPlaced") == 1
    assert "restarted" not in [outcome.kind for outcome in world.counted]


def test_it_creates_all_pods_again_after_the_back_off(world):
    place_one(world, a_job().with_workers(2))
    give_back(world)
    world.after(1)
    assert world.names("Pod") == []
    assert world.condition("Pending")["reason"] == "PartlyPlaced"
    next_try(world)
    world.run()
    assert (world.phase(), world.status()["attempt"]) == ("Running", 2)
    assert counters(world) == {}
    assert not {"givenBack", "givenBackAt"} & world.status().keys()


def test_the_back_off_grows_while_the_job_does_not_run(world):
    world.begin(a_job().with_workers(2))
    for times in range(1, 4):
        place_one(world)
        give_back(world)
        assert world.status()["givenBack"] == times
        next_try(world)
    assert len(world.names("Pod")) == 2
    waits = [back_off_seconds("any-uid", times) for times in (1, 3, 5)]
    assert all(later > earlier for earlier, later in pairwise(waits))
    assert back_off_seconds("any-uid", 1000) <= 540


def test_jobs_do_not_meet_again_and_again():
    waits = {round(back_off_seconds(f"uid-{job}", 1), 1) for job in range(100)}
    assert len(waits) > 50
    assert min(waits) >= 5.0
    assert max(waits) <= 15.0
    assert back_off_seconds("uid-1", 2) == back_off_seconds("uid-1", 2)


def test_without_the_flag_it_holds_them():
    world = World(Settings(give_back_after_seconds=0))
    place_one(world, a_job().with_workers(2))
    world.after(86400)
    assert world.condition("Pending")["reason"] == "Unschedulable"
    assert [name_of(pod) for pod in world.of_kind("Pod")] == ["train-worker-0", "train-worker-1"]
    assert world.status()["attempt"] == 1


def over_quota() -> Scenario:
    """A job whose first pod is placed, and whose second a quota refuses."""
    scenario = Scenario()
    scenario.do({"do": "submit", "spec": {"workers": 2}})
    scenario.operator.faults += ["ok"]
    scenario.world.before_write = lambda verb: _refuse_after_first(scenario.world)
    scenario.do({"do": "pass_time", "seconds": 1})
    scenario.do({"do": "place", "pod": "train-worker-0"})
    scenario.do({"do": "pass_time", "seconds": 1})
    return scenario


def _refuse_after_first(world: World) -> None:
    if world.names("Pod"):
        world.refused_kinds.add("Pod")


def test_it_gives_back_what_a_quota_admits_of_it():
    scenario = over_quota()
    pending = scenario.world.condition("Pending")
    assert pending["reason"] == "PartlyPlaced"
    assert "1 of 2 pods hold quota on node-1 (1) and cannot start" in pending["message"]
    assert [event.reason for event in scenario.world.told].count("PartlyPlaced") == 1
    scenario.do({"do": "pass_time", "seconds": SETTINGS.give_back_after_seconds})
    scenario.do({"do": "reap", "pod": "train-worker-0"})
    assert scenario.world.names("Pod") == []
    assert counters(scenario.world) == {}


@pytest.mark.parametrize("warm", [False, True], ids=["new process", "standby"])
def test_a_new_leader_goes_on_with_the_time_that_has_passed(warm):
    scenario = over_quota()
    for _ in range(3):
        scenario.do({"do": "pass_time", "seconds": SETTINGS.give_back_after_seconds / 4})
        scenario.do({"do": "restart", "warm": warm})
    assert scenario.world.status()["attempt"] == 1
    scenario.do({"do": "pass_time", "seconds": SETTINGS.give_back_after_seconds / 4 + 1})
    assert scenario.world.status()["attempt"] == 2


@pytest.mark.parametrize("when", ["killed-before", "killed-after"])
@pytest.mark.parametrize("write", range(14))
def test_it_ends_the_same_whenever_its_operator_is_killed(write, when):
    scenario = Scenario()
    scenario.do({"do": "crowd_out", "name": "train-worker-1"})
    scenario.do({"do": "submit", "spec": {"workers": 2}})
    scenario.do({"do": "fault", "writes": ["ok"] * write + [when]})
    for _ in range(30):
        scenario.do({"do": "run"})
        scenario.do({"do": "pass_time", "seconds": 1})
    status = scenario.world.status()
    assert (status["givenBack"], status["attempt"]) == (1, 2)
    scenario.finish()
    assert scenario.world.phase() == "Completed"
    assert counters(scenario.world) == {}


OTHERS = {
    "gang": a_job().with_workers(2).with_spec(schedulingPolicy={}),
    "gang by template": a_job().with_workers(2, a_template(schedulerName="volcano")),
    "elastic": a_job().with_elastic_workers(2, 1, 3),
}


@pytest.mark.parametrize("name", OTHERS)
def test_it_leaves_other_schedulers_and_elastic_jobs_alone(world, name):
    world.volcano_served = True
    world.begin(OTHERS[name])
    world.after(10)  # the wait for the user's PodGroup
    place_one(world)
    world.after(86400)
    assert world.condition("Pending")["reason"] != "PartlyPlaced"
    assert world.status()["attempt"] == 1


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda kubelet: kubelet.restart("train-worker-0"),
        lambda kubelet: kubelet.refuse_to_bind("train-worker-1", "", reason="SchedulingGated"),
    ],
    ids=["a program has started", "a scheduling gate"],
)
def test_it_holds_them_where_more_than_room_is_missing(world, meanwhile):
    place_one(world, a_job().with_workers(2))
    meanwhile(world.kubelet)
    world.after(86400)
    assert world.status()["attempt"] == 1


IMAGES = {
    "InvalidImageName": Settings().config_error_grace_seconds,
    "ErrImagePull": Settings().image_pull_grace_seconds,
}


@pytest.mark.parametrize("error", IMAGES)
def test_a_wrong_image_ends_it_as_soon_as_any_other_job(world, error):
    place_one(world, a_job().with_workers(2))
    world.kubelet.wait("train-worker-0", error, "no such image")
    world.settle()
    assert world.condition("Pending")["reason"] == "ImageError"
    world.after(IMAGES[error])
    assert world.condition(Condition.FAILED)["reason"] == "ImageError"
    assert "no such image" in world.condition(Condition.FAILED)["message"]


@pytest.mark.parametrize("error", IMAGES)
def test_a_wrong_image_ends_it_although_a_quota_refuses_another_pod(error):
    world = over_quota().world
    world.kubelet.wait("train-worker-0", error, "no such image")
    world.after(1)
    assert world.condition("Pending")["reason"] == "ImageError"
    world.after(IMAGES[error])
    assert world.condition(Condition.FAILED)["reason"] == "ImageError"


def test_suspended_it_waits_for_nothing(world):
    place_one(world, a_job().with_workers(2))
    give_back(world)
    world.amend(suspend=True)
    assert world.phase() == Phase.SUSPENDED
    world.amend(suspend=False)
    world.run()
    assert world.phase() == "Running"


def test_a_deadline_ends_it_and_says_why(world):
    job = a_job().with_workers(2).with_spec(startingDeadlineSeconds=400)
    place_one(world, job)
    give_back(world)
    next_try(world)
    place_one(world)
    world.after(200)
    failed = world.condition(Condition.FAILED)
    assert failed["reason"] == "StartingDeadlineExceeded"
    assert "1 of 2 pods hold room" in failed["message"]


def test_times_follow_a_clock_that_is_set_back(world):
    place_one(world, a_job().with_workers(2))
    give_back(world)
    world.set_clock_back(86400)
    world.settle()
    world.after(60)
    assert len(world.names("Pod")) == 2
    assert world.now < NOW


def test_room_of_a_job_whose_config_map_a_quota_refuses_is_given_back(world):
    """No program starts without it, so the placed pods hold their nodes for nothing."""
    world.refused_kinds.add("ConfigMap")
    world.run(a_job().with_workers(2))
    pending = world.condition("Pending")
    assert pending["reason"] == "PartlyPlaced"
    assert "not placed: exceeded quota" in pending["message"]
    world.restart()
    world.settle()
    assert world.condition("Pending")["lastTransitionTime"] == pending["lastTransitionTime"]
    give_back(world)
    assert (world.names("Pod"), world.names("ConfigMap")) == ([], [])
    world.refused_kinds.clear()
    next_try(world)
    world.run()
    assert (world.phase(), world.status()["attempt"], counters(world)) == ("Running", 2, {})
