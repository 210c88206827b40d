"""No role has more pods than Kueue admitted, or others, in whatever order things happen.

This Kueue does nothing by itself: it is late, or away, for as long as a test wants.
"""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from api.constants import ANNOTATION_TEMPLATES
from api.objects import Raw
from reconcile.model.plan import Settings
from reconcile.reconcile import reconcile
from tests.memory.builders import JobBuilder, a_job, a_template
from tests.memory.kueue import WORKLOAD, Kueue
from tests.memory.world import World

LABELS = {"kueue.x-k8s.io/queue-name": "team-a"}
NAME = "paddlejob-train-0123a"
PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"


@pytest.fixture
def world() -> World:
    return World(settings=Settings(kueue=True))


@pytest.fixture
def kueue(world: World) -> Kueue:
    return Kueue(world)


def a_queued_job() -> JobBuilder:
    return a_job().with_ps(1).with_workers(2).with_metadata(labels=dict(LABELS))


def an_elastic_job() -> JobBuilder:
    return a_job().with_elastic_workers(2, 1, 4).with_metadata(labels=dict(LABELS))


def run(world: World, kueue: Kueue, job: JobBuilder) -> str:
    """Have the job admitted, and all its pods run; the UID of its Workload."""
    world.begin(job)
    kueue.admit()
    world.run()
    assert world.phase() == "Running"
    return str(kueue.workload["metadata"]["uid"])


def suspend(world: World) -> None:
    """Suspend the job, and let its pods go; Kueue does not act on it."""
    world.amend(suspend=True)
    world.kubelet.let_go()
    assert (world.phase(), world.names("Pod")) == ("Suspended", [])


def test_a_resumed_job_waits_until_its_workload_is_seen_to_be_active_again(world, kueue):
    """Kueue takes the quota of an inactive Workload back: the watch can be behind that."""
    run(world, kueue, a_queued_job())
    suspend(world)
    before = deepcopy(kueue.workload)
    world.edit_spec(suspend=False)
    world.work()
    assert world.phase() == "Pending"
    behind = replace(world.observe(), workloads=(before,))
    assert not reconcile(behind, world.now, world.settings).creates
    world.settle()
    assert len(world.names("Pod")) == 3


def role(replicas: int, **template: Any) -> Raw:
    return {"replicas": replicas, "template": a_template(**template)}


OTHERS: dict[str, Raw] = {
    "more workers": {"worker": role(50)},
    "fewer workers": {"worker": role(1)},
    "more servers": {"ps": role(9)},
    "as many in all": {"ps": role(2), "worker": role(1)},
    "another template": {"worker": role(2, nodeSelector={"gpu": "a100"})},
    "labels": {
        "worker": {**role(2), "template": a_template() | {"metadata": {"labels": {"a": "b"}}}}
    },
}


@pytest.mark.parametrize("other", OTHERS)
def test_job_that_comes_back_as_another_is_queued_anew(world, kueue, other):
    uid = run(world, kueue, a_queued_job())
    suspend(world)
    world.amend(suspend=False, **OTHERS[other])
    assert (world.names("Pod"), kueue.holds_quota) == ([], False)
    assert kueue.workload["metadata"]["uid"] != uid
    assert (world.phase(), world.condition("Pending")["reason"]) == ("Pending", "Queued")
    kueue.admit()
    world.settle()
    spec = world.job()["spec"]
    assert len(world.names("Pod")) == spec["worker"]["replicas"] + spec["ps"]["replicas"]


@pytest.mark.parametrize("other", OTHERS)
def test_job_that_changes_while_it_runs_ends_its_attempt_as_at_an_eviction(world, kueue, other):
    """An API server that knows no CEL lets any field change."""
    run(world, kueue, a_queued_job())
    world.amend(**OTHERS[other])
    assert "JobChanged" in world.condition("Restarting")["message"]
    assert len(world.names("Pod")) <= 3, "none is made"
    assert kueue.holds_quota, "its pods still stop"
    world.kubelet.let_go()
    assert (world.names("Pod"), kueue.holds_quota) == ([], False)
    assert "failureCount" not in world.status()


def test_quota_stays_until_the_old_pods_are_gone(world, kueue):
    uid = run(world, kueue, a_queued_job())
    world.amend(suspend=True)
    world.amend(suspend=False, worker=role(50))
    assert (kueue.workload["metadata"]["uid"], kueue.holds_quota) == (uid, True)
    assert len(world.names("Pod")) == 3
    world.kubelet.let_go()
    assert (world.names("Pod"), kueue.holds_quota) == ([], False)


def test_job_that_comes_back_as_it_was_goes_on_in_its_quota(world, kueue):
    uid = run(world, kueue, a_queued_job())
    suspend(world)
    world.amend(suspend=False)
    assert len(world.names("Pod")) == 3
    assert kueue.workload["metadata"]["uid"] == uid


@pytest.mark.parametrize("moment", ["held", "reserved", "admitted"])
def test_it_does_not_matter_when_kueue_admits_the_former_job(world, kueue, moment):
    world.begin(a_queued_job())
    if moment == "reserved":
        kueue.admit()
        kueue.tell(Admitted=("False", "UnsatisfiedChecks", "a check is to come"))
    elif moment == "admitted":
        kueue.admit()
    world.edit_spec(worker=role(3))
    if moment != "admitted":
        kueue.admit()
    world.settle()
    assert (world.names("Pod"), kueue.holds_quota) == ([], False)
    assert kueue.workload["spec"]["podSets"][1]["count"] == 3


@pytest.mark.parametrize("label", ["other", ""])
def test_label_that_changes_lends_no_quota_to_other_pods(world, kueue, label):
    uid = run(world, kueue, a_queued_job())
    labels = {"kueue.x-k8s.io/queue-name": label} if label else {}
    world.change("PaddleJob", "train", lambda job: job["metadata"].update(labels=labels))
    world.settle()
    assert world.phase() == "Running"
    suspend(world)
    world.edit_spec(suspend=False, worker=role(50))
    while not world.names("Pod") and kueue_has(world, uid):
        world.work()
    assert not kueue_has(world, uid), "pods were made while it had quota for others"
    world.settle()
    assert len(world.names("Pod")) == (0 if label else 51), "without a label it needs no quota"


def kueue_has(world: World, uid: str) -> bool:
    return any(each["metadata"]["uid"] == uid for each in world.of_kind(WORKLOAD))


@pytest.mark.parametrize("wrong", ["fewer", "more", "no count", "no such role", "nothing"])
def test_admission_for_other_pods_admits_none(world, kueue, wrong):
    """A batch administrator, or partial admission, that changes what the job asked for."""
    world.begin(a_queued_job())
    if wrong in ("fewer", "no count"):
        world.change(WORKLOAD, NAME, lambda w: w["spec"]["podSets"][1].update(count=1))
    kueue.admit(**({"worker": 5} if wrong == "more" else {}))

    def edit(workload: Raw) -> None:
        assigned = workload["status"]["admission"]["podSetAssignments"]
        if wrong == "no count":  # then all pods of the pod set are admitted
            del assigned[1]["count"]
        elif wrong in ("no such role", "nothing"):
            del assigned[1 if wrong == "no such role" else 0 :]

    world.change(WORKLOAD, NAME, edit)
    world.settle()
    assert (world.names("Pod"), kueue.holds_quota) == ([], False)


def test_assignment_without_a_count_is_for_its_pod_set(world, kueue):
    world.begin(a_queued_job())
    kueue.admit()
    world.change(
        WORKLOAD,
        NAME,
        lambda w: [each.pop("count") for each in w["status"]["admission"]["podSetAssignments"]],
    )
    world.settle()
    assert len(world.names("Pod")) == 3


def test_only_an_elastic_job_asks_for_fewer_pods(world, kueue):
    world.begin(a_job().with_workers(4).with_metadata(labels=dict(LABELS)))
    world.amend(worker=role(4) | {"requests": 2})
    assert "minCount" not in kueue.workload["spec"]["podSets"][0]


@pytest.mark.parametrize("value", ["another", None])
def test_workload_whose_digest_was_edited_ends_the_attempt(world, kueue, value):
    run(world, kueue, a_queued_job())
    annotations: Raw = {} if value is None else {ANNOTATION_TEMPLATES: value}
    world.change(WORKLOAD, NAME, lambda w: w["metadata"].update(annotations=annotations))
    world.settle()
    assert world.status()["reason"] == "Evicted"


@pytest.mark.parametrize("job", [a_queued_job, an_elastic_job])
def test_job_admitted_under_an_earlier_release_runs_on(world, kueue, job):
    uid = run(world, kueue, job())
    world.change(WORKLOAD, NAME, lambda w: w["metadata"]["annotations"].pop(ANNOTATION_TEMPLATES))
    world.settle()
    assert (world.phase(), kueue.workload["metadata"]["uid"]) == ("Running", uid)
    suspend(world)
    world.amend(
        suspend=False, worker=world.job()["spec"]["worker"] | role(2, nodeSelector={"a": "b"})
    )
    assert (world.names("Pod"), kueue.holds_quota) == ([], False)


def test_elastic_job_scales_within_its_admission(world, kueue):
    uid = run(world, kueue, an_elastic_job())
    worker = world.job()["spec"]["worker"]
    for replicas, pods in ((4, 2), (1, 1), (3, 2)):
        world.amend(worker=worker | {"replicas": replicas})
        world.kubelet.let_go()
        assert len(world.names("Pod")) == pods
    assert (kueue.workload["metadata"]["uid"], world.status()["attempt"]) == (uid, 1)
    suspend(world)
    world.amend(suspend=False, worker=worker | role(2, tolerations=[{"operator": "Exists"}]))
    assert (world.names("Pod"), kueue.holds_quota) == ([], False)


@pytest.mark.parametrize("workers", [1, 0])
def test_elastic_job_does_not_run_with_fewer_than_its_least(world, kueue, workers):
    """Whoever may write Workloads takes pods away from an admission."""
    uid = run(world, kueue, a_job().with_elastic_workers(3, 2, 4).with_metadata(labels=LABELS))

    def edit(workload: Raw) -> None:
        workload["status"]["admission"]["podSetAssignments"][0]["count"] = workers

    world.change(WORKLOAD, NAME, edit)
    world.settle()
    world.kubelet.let_go()
    assert (world.names("Pod"), kueue.holds_quota) == ([], False)
    assert kueue.workload["metadata"]["uid"] != uid
    kueue.admit(worker=2)
    world.run()
    assert (world.phase(), len(world.names("Pod"))) == ("Running", 2)


def test_elastic_job_that_asks_for_fewer_than_its_least_runs_with_these(world, kueue):
    """An API server that knows no CEL lets it."""
    uid = run(world, kueue, a_job().with_elastic_workers(3, 2, 4).with_metadata(labels=LABELS))
    world.amend(worker=world.job()["spec"]["worker"] | {"replicas": 1})
    world.kubelet.let_go()
    assert (world.phase(), len(world.names("Pod"))) == ("Running", 1)
    assert kueue.workload["metadata"]["uid"] == uid


def test_elastic_job_does_not_grow_while_no_workloads_are_served(world, kueue):
    """Then nobody knows how many were admitted; the pods that there are run on."""
    run(world, kueue, an_elastic_job())
    world.workloads_served = False
    world.remove(WORKLOAD, NAME)
    world.amend(worker=world.job()["spec"]["worker"] | {"replicas": 4})
    assert len(world.names("Pod")) == 2
    assert world.condition("Pending")["reason"] == "QueueUnavailable"


@pytest.mark.parametrize("named", ["another-workload", NAME])
def test_naming_another_workload_frees_no_quota_that_pods_use(world, kueue, named):
    uid = run(world, kueue, a_queued_job())
    annotations = {PREBUILT: named}
    world.change("PaddleJob", "train", lambda job: job["metadata"].update(annotations=annotations))
    world.settle()
    assert (kueue_has(world, uid), kueue.holds_quota) == (True, True)
    world.kubelet.let_go()
    assert kueue_has(world, uid) == (named == NAME) == bool(world.names("Pod"))


@pytest.mark.parametrize("loss", ["evicted", "deleted"])
def test_pods_that_outlive_their_job_stop_when_its_quota_is_taken(world, kueue, loss):
    run(world, kueue, a_queued_job().with_spec(cleanPodPolicy="Never"))
    world.kubelet.see_end("train-worker-0", 1)
    assert (world.phase(), len(world.names("Pod")), kueue.holds_quota) == ("Failed", 3, True)
    if loss == "evicted":
        kueue.evict()
    else:
        world.remove(WORKLOAD, NAME)
    world.kubelet.let_go()
    assert world.names("Pod") == ["train-worker-0"], "one that has ended uses none"
    assert loss == "deleted" or kueue.condition("Finished") == "True"


def test_pods_that_outlive_their_job_run_on_while_no_workloads_are_served(world, kueue):
    run(world, kueue, a_queued_job().with_spec(cleanPodPolicy="Never"))
    world.kubelet.see_end("train-worker-0", 1)
    world.workloads_served = False
    world.remove(WORKLOAD, NAME)
    world.kubelet.let_go()
    assert len(world.names("Pod")) == 3


def test_workload_that_another_job_left_behind_is_not_taken(world, kueue):
    """As with kubectl delete --cascade=orphan: its pods run on, and use the quota."""
    run(world, kueue, a_queued_job())
    world.forget("PaddleJob", "train")
    for kind in ("Pod", "ConfigMap", WORKLOAD):
        for name in world.names(kind):
            world.change(kind, name, lambda each: each["metadata"].pop("ownerReferences"))
    other = a_job("other", "ffff0000-uid").with_ps(1).with_workers(2)
    world.submit(other.with_metadata(labels=dict(LABELS), annotations={PREBUILT: NAME}))
    world.settle("other")
    assert [name for name in world.names("Pod") if name.startswith("other")] == []


def test_reservation_whose_admission_is_not_known_is_kept(world, kueue):
    """The cache drops an admission that is too large; made anew, it would be as large again."""
    world.begin(a_queued_job())
    uid = kueue.workload["metadata"]["uid"]
    kueue.admit()
    world.change(WORKLOAD, NAME, lambda w: w["status"].pop("admission"))
    world.settle()
    assert (world.names("Pod"), kueue.workload["metadata"]["uid"]) == ([], uid)
