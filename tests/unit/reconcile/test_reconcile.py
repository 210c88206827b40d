"""A whole pass: order, one state change at a time, nothing to do twice, nothing foreign touched."""

from dataclasses import replace

import pytest

from api.objects import format_time, name_of
from reconcile.model.plan import Plan, Refusal
from reconcile.reconcile import reconcile
from tests.memory.builders import NOW, a_job, stamp
from tests.memory.world import writes_nothing


def test_servers_are_created_before_workers(world):
    world.submit(a_job().with_ps(2).with_workers(2).with_heter(1))
    plan = world.work()
    assert [[create.name for create in group] for group in plan.creates] == [
        ["train-ps-0", "train-ps-1"],
        ["train-worker-0", "train-worker-1"],
        ["train-heter-0"],
    ]


def test_start_of_a_job_costs_no_more_than_it_must(world):
    verbs: list[str] = []
    world.before_write = verbs.append
    world.spares_writes = True
    world.submit(a_job().with_ps(2).with_workers(2))
    for move in (world.kubelet.place_all, world.kubelet.start_all, world.kubelet.start_all):
        world.settle()
        world.advance(1)
        move()
    world.settle()
    assert world.phase() == "Running"
    assert verbs.count("create") == 5
    assert verbs.count("status") <= 3
    assert set(verbs) == {"create", "status"}
    assert [event.reason for event in world.told] == ["Created", "AllPodsRunning"]
    assert [outcome.kind for outcome in world.counted] == ["created", "running", "started"]


@pytest.mark.parametrize("stage", ["Pending", "Running", "Completed", "Failed", "Suspended"])
def test_settled_job_costs_nothing(world, stage):
    world.submit(a_job().with_ps(1).with_workers(2))
    if stage != "Pending":
        world.run()
    if stage in ("Completed", "Failed"):
        world.kubelet.end_all("worker", 0 if stage == "Completed" else 1)
    if stage == "Suspended":
        world.edit_spec(suspend=True)
    world.kubelet.let_go()
    assert world.phase() == stage
    world.after(3600)  # of a pending job: until it says that no scheduler handles its pods
    world.advance(3600)
    assert writes_nothing(world.work())


def test_pod_deleted_before_the_start_comes_back(world):
    world.begin(a_job().with_workers(2))
    world.remove("Pod", "train-worker-1")
    world.settle()
    assert len(world.names("Pod")) == 2
    assert world.status()["attempt"] == 1


@pytest.mark.parametrize("kind", ["Service", "ConfigMap", "PodGroup"])
def test_child_that_is_deleted_comes_back(world, kind):
    world.volcano_served = True
    world.run(a_job().with_workers(1).with_spec(intranet="Service", schedulingPolicy={}))
    (before,) = world.of_kind(kind)
    world.remove(kind, name_of(before))
    world.settle()
    (after,) = world.of_kind(kind)
    assert name_of(after) == name_of(before)
    assert (after.get("spec"), after.get("data")) == (before.get("spec"), before.get("data"))
    assert after["metadata"]["labels"] == before["metadata"]["labels"]
    assert (world.phase(), world.status()["attempt"]) == ("Running", 1)


def test_foreign_object_is_left_alone(world):
    foreign = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train-worker-0"},
        "spec": {},
    }
    before = world.put(foreign)
    world.begin(a_job().with_workers(1))
    assert world.get("Pod", "train-worker-0") == before
    assert world.condition("Pending")["reason"] == "NameConflict"
    assert [event.reason for event in world.told].count("NameConflict") == 1
    world.remove("Pod", "train-worker-0")
    world.after(10)
    assert world.get("Pod", "train-worker-0")["metadata"]["uid"] != before["metadata"]["uid"]


@pytest.mark.parametrize(
    ("owner", "phase", "reason"),
    [
        pytest.param(None, "Starting", "NameConflict", id="a-users"),
        pytest.param("old-uid", "Pending", "PodsTerminating", id="a-former-jobs"),
    ],
)
def test_no_trainer_starts_with_a_namesakes_config_map(world, owner, phase, reason):
    if owner is None:
        world.put({"kind": "ConfigMap", "metadata": {"name": "train"}, "data": {"MINE": "1"}})
    else:
        world.run(a_job(uid=owner).with_workers(1))
        world.kubelet.vanish("train-worker-0")
        world.forget("PaddleJob", "train")
    world.run(a_job(uid="new-uid").with_workers(1))
    assert world.phase() == phase
    assert world.condition("Pending")["reason"] == reason
    world.remove("ConfigMap", "train")
    world.advance(10)
    world.run()
    world.kubelet.reap_all()  # the pod that found another's ConfigMap
    world.run()
    assert world.phase() == "Running"


@pytest.mark.parametrize(
    ("manager", "pods"),
    [("example.com/other", []), ("paddlejob.batch.paddlepaddle.org/operator", ["train-worker-0"])],
)
def test_job_is_run_by_the_controller_that_it_names(world, manager, pods):
    world.begin(a_job().with_workers(1).with_spec(managedBy=manager))
    assert world.names("Pod") == pods
    assert bool(world.status()) == bool(pods)


def test_job_being_deleted_gets_no_children_and_waits_for_no_deadline(world):
    world.run(a_job().with_workers(2).with_spec(activeDeadlineSeconds=60))
    world.change("PaddleJob", "train", lambda j: j["metadata"].update(deletionTimestamp=stamp()))
    world.kubelet.vanish("train-worker-0")
    assert world.after(100).requeue_after is None
    assert world.phase() == "Terminating"
    assert world.names("Pod") == ["train-worker-1"]


def test_status_written_on_an_old_view_is_refused(world):
    """A new leader's cache shows the job as it ran; its predecessor has completed it since."""
    world.run(a_job().with_workers(1))
    stale = world.observe()
    world.kubelet.see_end("train-worker-0", 0)
    world.kubelet.reap_all()
    without_pods = replace(stale, pods=())
    world.apply(stale.job, reconcile(without_pods, world.now, world.settings))
    assert world.phase() == "Completed"


def test_status_that_was_wiped_is_told_from_the_pods(world):
    world.run(a_job().with_workers(1))
    world.kubelet.evict("train-worker-0")
    world.settle()
    world.kubelet.reap_all()
    world.advance(60)
    world.run()
    before = world.kubelet.uid("train-worker-0")
    world.change("PaddleJob", "train", lambda job: job.pop("status"))
    world.settle()
    assert world.status()["attempt"] == 2
    assert world.kubelet.uid("train-worker-0") == before


def test_pod_whose_labels_were_tampered_with_is_replaced(world):
    world.begin(a_job().with_workers(1))
    before = world.kubelet.uid("train-worker-0")
    attempt = "batch.paddlepaddle.org/attempt"
    world.change("Pod", "train-worker-0", lambda pod: pod["metadata"]["labels"].pop(attempt))
    world.settle()
    assert world.kubelet.uid("train-worker-0") != before


def test_pod_that_was_abandoned_is_not_touched(world):
    world.begin(a_job().with_workers(1))
    world.change("Pod", "train-worker-0", lambda pod: pod["metadata"].pop("ownerReferences"))
    before = world.get("Pod", "train-worker-0")
    world.settle()
    assert world.get("Pod", "train-worker-0") == before
    assert world.condition("Pending")["reason"] == "NameConflict"


def test_spec_that_validation_refuses_ends_the_job_before_it_starts(world):
    world.begin(a_job().with_ps(1))
    assert world.phase() == "Failed"
    assert world.condition("Failed")["reason"] == "InvalidSpec"
    assert "spec.worker" in world.condition("Failed")["message"]
    assert world.names("Pod") == []


def test_overridden_variables_are_told_at_the_start(world):
    container = {"name": "paddle", "env": [{"name": "PADDLE_TRAINER_ID", "value": "7"}]}
    world.begin(a_job().with_workers(1, {"spec": {"containers": [container]}}))
    warning = next(event for event in world.told if event.type == "Warning")
    assert warning.reason == "OwnedVariable"
    assert "PADDLE_TRAINER_ID" in warning.message


def test_no_more_is_created_after_a_refusal(world):
    world.refusals[("Pod", "train-ps-0")] = Refusal("Pod", "train-ps-0", "Forbidden", "quota", 403)
    world.begin(a_job().with_ps(1).with_workers(2))
    assert world.names("Pod") == []


def test_counts_alone_are_written_seldom(world):
    world.begin(a_job().with_workers(3))
    world.kubelet.bind("train-worker-0")
    observed = replace(world.observe(), status_written_at=world.now)
    plan = reconcile(observed, world.now, world.settings)
    assert plan.status is None
    assert plan.requeue_after == 2


def test_a_first_status_that_says_what_holds_the_pods_up_waits_less(world):
    world.submit(a_job().with_workers(2))
    refusal = Refusal("Pod", "train-worker-0", "Forbidden", "exceeded quota: few", 403)

    def look(*refusals: Refusal) -> Plan:
        observed = replace(
            world.observe(), is_backlogged=True, refusals=refusals, refused_times=len(refusals)
        )
        return reconcile(observed, world.now, world.settings)

    assert (look().status, look().requeue_after) == (None, 5)
    assert (look(refusal).status, look(refusal).requeue_after) == (None, 5)
    world.advance(seconds=5)
    assert look().status is None
    told = look(refusal).status
    assert told is not None
    assert "QuotaExceeded" in {each["reason"] for each in told["status"]["conditions"]}


def test_a_first_status_waits_for_other_jobs_half_a_minute_at_most(world):
    world.submit(a_job().with_workers(2))
    world.is_backlogged = True
    world.advance(seconds=27)
    plan = world.work()
    assert (plan.status, plan.requeue_after) == (None, 3)
    world.after(3)
    assert world.phase() == "Pending"


def test_a_first_status_that_was_deferred_waits_for_the_pods_then(world):
    """Five seconds from the job's creation at most."""
    world.submit(a_job().with_workers(2))
    world.is_backlogged = True
    world.settle()
    world.is_backlogged = False
    world.advance(seconds=2)
    assert (world.work().status, world.work().requeue_after) == (None, 3)
    world.after(3)
    assert world.phase() == "Pending"


@pytest.mark.parametrize("field", ["activeDeadlineSeconds", "startingDeadlineSeconds"])
def test_a_first_status_is_deferred_for_half_of_a_deadline(world, field):
    world.submit(a_job().with_workers(1).with_spec(**{field: 6}))
    world.is_backlogged = True
    assert (world.work().status, world.work().requeue_after) == (None, 3)
    world.advance(seconds=3)
    world.work()
    assert world.status()["startTime"] == format_time(NOW)
    assert world.work().requeue_after == 3


def test_a_first_status_that_is_deferred_says_it_all_once_the_pods_run(world):
    world.submit(a_job().with_workers(2))
    world.is_backlogged = True
    first = world.work()
    assert (first.status, first.requeue_after, first.events) == (None, 5, ())
    world.advance(seconds=3)
    world.kubelet.place_all()
    assert world.work().status is None  # the ConfigMap is made meanwhile
    world.kubelet.start_all()
    last = world.work()
    assert world.phase() == "Running"
    (told,) = last.events
    assert (told.reason, told.message) == (
        "AllPodsRunning",
        "a Collective job with 2 workers: all 2 pods run",
    )
    assert world.status()["startTime"] == format_time(NOW)
