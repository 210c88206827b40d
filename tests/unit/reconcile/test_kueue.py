"""With --kueue: no pod without quota, quota given back with the last pod, nothing charged."""

import random

import pytest

from api.catalogue.kueue import KUEUE
from api.constants import LABEL_INDEX
from api.objects import Raw, condition_named, labels_of, name_of
from reconcile.children.queue import QUEUE_RETRY_SECONDS
from reconcile.model.plan import Settings
from reconcile.model.workload import FLAVOR, objects_to_read
from reconcile.objects.flavors import TOPOLOGY
from tests.faults.scenario import Scenario
from tests.memory.builders import JobBuilder, a_job, a_template
from tests.memory.kueue import WORKLOAD, Kueue
from tests.memory.world import World

LABELS = {"kueue.x-k8s.io/queue-name": "team-a"}
NAME = "paddlejob-train-0123a"
PRIORITY = "WorkloadPriorityClass"


@pytest.fixture
def world() -> World:
    return World(settings=Settings(kueue=True))


@pytest.fixture
def kueue(world: World) -> Kueue:
    return Kueue(world)


def a_queued_job(**template: object) -> JobBuilder:
    return a_job().with_workers(2, a_template(**template)).with_metadata(labels=dict(LABELS))


def run(world: World, kueue: Kueue, job: JobBuilder | None = None) -> None:
    """Have the job admitted, and all its pods run."""
    if job is not None:
        world.begin(job)
    kueue.admit()
    world.run()


def test_job_is_held_with_one_workload(world, kueue):
    world.begin(a_queued_job())
    workload = kueue.workload
    assert kueue.name == NAME
    assert workload["metadata"]["ownerReferences"][0]["uid"] == world.job()["metadata"]["uid"]
    assert workload["metadata"]["labels"]["kueue.x-k8s.io/job-uid"]
    assert workload["spec"]["queueName"] == "team-a"
    assert [(each["name"], each["count"]) for each in workload["spec"]["podSets"]] == [
        ("worker", 2)
    ]
    assert (world.names("Pod"), world.names("ConfigMap")) == ([], [])
    assert world.phase() == "Pending"
    assert world.condition("Pending")["reason"] == "Queued"
    assert "startTime" not in world.status()


def test_admitted_job_runs_and_its_wait_is_counted_apart(world, kueue):
    world.begin(a_queued_job())
    world.advance(3600)
    run(world, kueue)
    assert (world.phase(), world.status()["attempt"]) == ("Running", 1)
    assert world.status()["startTime"]
    assert kueue.condition("PodsReady") == "True"
    seconds = {each.kind: each.seconds for each in world.counted}
    assert seconds["running"] == pytest.approx(3600, abs=60)
    assert seconds["started"] == pytest.approx(0, abs=60)


@pytest.mark.parametrize("reason", KUEUE)
def test_held_job_says_kueues_words_and_what_to_do(world, kueue, reason):
    world.begin(a_queued_job())
    kueue.hold(reason, "insufficient cpu")
    world.settle()
    told = world.condition("Pending")["message"]
    assert told == f"{reason}: insufficient cpu; next: {KUEUE[reason].clause}"
    assert world.names("Pod") == []


def test_pods_have_what_flavors_and_checks_assign(world, kueue):
    taint = {"key": "gpu", "operator": "Exists"}
    flavor = {"nodeLabels": {"gpu": "a100"}, "tolerations": [taint]}
    world.unwatched_objects["ResourceFlavor", "a100"] = {"spec": flavor}
    world.begin(a_queued_job(nodeSelector={"zone": "1"}))
    update = {"name": "worker", "labels": {"l": "1"}, "annotations": {"a": "1"}}
    check = {"name": "c", "state": "Ready", "podSetUpdates": [update]}
    world.change(
        WORKLOAD, NAME, lambda w: w.setdefault("status", {}).update(admissionChecks=[check])
    )
    kueue.admit("a100")
    world.settle()
    for pod in world.of_kind("Pod"):
        assert pod["spec"]["nodeSelector"] == {"zone": "1", "gpu": "a100"}
        assert pod["spec"]["tolerations"] == [taint]
        assert pod["metadata"]["labels"]["l"] == "1"
        assert pod["metadata"]["annotations"]["a"] == "1"
    assert len(world.names("Pod")) == 2
    spec = world.job()["spec"]["worker"]["template"]["spec"]
    assert spec["nodeSelector"] == {"zone": "1"}, "nobody writes to the job's spec"


def test_flavor_against_the_users_selector_is_an_invalid_spec(world, kueue):
    world.unwatched_objects["ResourceFlavor", "f"] = {"spec": {"nodeLabels": {"gpu": "a100"}}}
    world.begin(a_queued_job(nodeSelector={"gpu": "h100"}))
    kueue.admit("f")
    world.settle()
    assert (world.phase(), world.status()["reason"]) == ("Failed", "InvalidSpec")
    assert kueue.condition("Finished") == "True"


def test_numbers_too_large_for_json_reach_the_api_server_too_large(world, kueue):
    """It refuses them by name; int() and JSON would raise, in every pass."""
    annotations = {f"{TOPOLOGY}slice-size": "9" * 5000, f"{TOPOLOGY}slice-required-topology": "r"}
    template = a_template() | {"metadata": {"annotations": annotations}}
    labels = LABELS | {"kueue.x-k8s.io/max-exec-time-seconds": "9" * 63}
    world.begin(a_job().with_workers(2, template).with_metadata(labels=labels))
    spec = kueue.workload["spec"]
    request = spec["podSets"][0]["topologyRequest"]
    for number in (spec["maximumExecutionTimeSeconds"], request["podSetSliceSize"]):
        assert 2**31 < number < 2**63


@pytest.mark.parametrize(
    ("asked", "request_"),
    [
        ({}, {}),
        (
            {"required-topology": "rack", "group-name": "g"},
            {"required": "rack", "podSetGroupName": "g"},
        ),
        ({"preferred-topology": "block"}, {"preferred": "block"}),
        ({"unconstrained-topology": "true"}, {"unconstrained": True}),
        (
            {"slice-required-topology": "rack", "slice-size": "2", "group-name": "g"},
            {
                "podSetSliceRequiredTopology": "rack",
                "podSetSliceSize": 2,
            },
        ),
        ({"slice-required-topology": "rack", "slice-size": "two"}, {}),
    ],
)
def test_topology_that_templates_ask_for_is_asked_of_kueue(world, kueue, asked, request_):
    annotations = {f"{TOPOLOGY}{key}": value for key, value in asked.items()}
    template = a_template() | {"metadata": {"annotations": annotations}}
    world.begin(a_job().with_workers(2, template).with_metadata(labels=dict(LABELS)))
    (pod_set,) = kueue.workload["spec"]["podSets"]
    assert pod_set["topologyRequest"] == {"podIndexLabel": LABEL_INDEX} | request_
    kueue.admit(topology=True)
    world.settle()
    for pod in world.of_kind("Pod"):
        assert pod["spec"]["schedulingGates"] == [{"name": "kueue.x-k8s.io/topology"}]
        assert pod["metadata"]["labels"]["kueue.x-k8s.io/podset"] == "worker"
        told = pod["metadata"]["annotations"]
        assert told["kueue.x-k8s.io/workload"] == NAME
        level = {key for key in told if key.startswith(TOPOLOGY) and key.endswith("d-topology")}
        assert level - {f"{TOPOLOGY}slice-required-topology"}
        world.kubelet.refuse_to_bind(name_of(pod), "", reason="SchedulingGated")
    world.settle()
    told = world.condition("Pending")
    assert (told["reason"], told["message"].partition(";")[0]) == (
        "Queued",
        "Kueue has yet to choose nodes for 2 pods",
    )


def test_manager_of_multikueue_has_the_workload_and_nothing_else(world, kueue):
    job = a_queued_job().with_spec(managedBy="kueue.x-k8s.io/multikueue")
    world.begin(job)
    kueue.admit()
    world.settle()
    ours = {"phase": "Running", "attempt": 1, "mode": "Collective"}
    world.change("PaddleJob", "train", lambda job: job.update(status=ours))
    kueue.tell(PodsReady=("True", "Started", ""))
    reclaimed = [{"name": "worker", "count": 1}]
    world.change(WORKLOAD, NAME, lambda w: w["status"].update(reclaimablePods=reclaimed))
    world.settle()
    assert (world.names("Pod"), world.names("ConfigMap"), kueue.name) == ([], [], NAME)
    assert (world.status(), kueue.condition("PodsReady")) == (ours, "True")
    kueue.evict()
    world.settle()
    assert not kueue.holds_quota
    kueue.tell(Finished=("True", "Succeeded", ""))
    world.settle()
    assert kueue.condition("Finished") == "True", "the job's end is not copied yet"
    world.settings = Settings()
    world.remove(WORKLOAD, NAME)
    world.settle()
    assert world.names(WORKLOAD) == [], "without the flag it is another controller's job"


@pytest.mark.parametrize("wrong", ["", "another's", "more pods", "gone"])
def test_workload_that_came_with_the_job_is_used(world, kueue, wrong):
    elsewhere = World(settings=Settings(kueue=True), workloads_served=True)
    elsewhere.unwatched_objects[PRIORITY, "x"] = {"value": 5}  # here is none
    labels = LABELS | {"kueue.x-k8s.io/priority-class": "x"}
    job = a_queued_job().with_metadata(labels=dict(labels))
    elsewhere.begin(job.with_spec(managedBy="kueue.x-k8s.io/multikueue"))
    (made,) = elsewhere.of_kind(WORKLOAD)
    kept = {key: made["metadata"][key] for key in ("labels", "annotations")}
    kept["labels"]["batch.paddlepaddle.org/job-uid"] = "of-the-manager"
    sent = made | {"metadata": kept | {"name": "paddlejob-train-fffff"}}
    if wrong == "another's":
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "x", "uid": "x"}
        sent["metadata"]["ownerReferences"] = [owner | {"controller": True}]
    elif wrong == "more pods":
        sent["spec"]["podSets"][0]["count"] = 3
    if wrong != "gone":
        world.put(sent)
        kueue.admit()
    named = {"kueue.x-k8s.io/prebuilt-workload-name": "paddlejob-train-fffff"}
    world.begin(a_queued_job().with_metadata(annotations=named, labels=labels))
    if wrong:
        assert (world.names("Pod"), len(world.names(WORKLOAD))) == ([], int(wrong != "gone"))
        assert "does not exist, or is not for this job" in str(world.condition("Pending"))
        return
    run(world, kueue)
    assert (world.phase(), kueue.name) == ("Running", "paddlejob-train-fffff")
    assert kueue.workload["metadata"]["ownerReferences"][0]["name"] == "train"
    for index in range(2):
        world.kubelet.end(f"train-worker-{index}", 0)
    world.settle()
    assert kueue.condition("Finished") == "True"


def test_flavors_are_read_for_an_assignment_without_a_count(world, kueue):
    """It is for all pods of its pod set."""
    world.begin(a_queued_job())
    kueue.admit("x")
    del kueue.workload["status"]["admission"]["podSetAssignments"][0]["count"]
    for pods, kinds in ((0, {FLAVOR}), (1, {FLAVOR}), (2, set())):
        found = objects_to_read(world.job(), (kueue.workload,), pods)
        assert {kind for kind, _ in found} == kinds


@pytest.mark.parametrize("kind", [FLAVOR, PRIORITY])
def test_missing_right_or_object_is_named(world, kueue, kind):
    labels = LABELS | ({} if kind == FLAVOR else {"kueue.x-k8s.io/priority-class": "x"})
    world.unwatched_objects[kind, "x"] = {}
    world.begin(a_queued_job().with_metadata(labels=labels))
    if kind == FLAVOR:
        kueue.admit("x")
        world.settle()
    told = world.condition("Pending")
    assert (told["reason"], world.names("Pod")) == ("QueueUnavailable", [])
    assert (
        f"the operator has no right to get {kind} x; next: have an administrator grant it"
        in told["message"]
    )
    del world.unwatched_objects[kind, "x"]
    world.after(QUEUE_RETRY_SECONDS)
    told = world.condition("Pending")
    assert (told["reason"], world.names("Pod")) == ("Queued", [])
    assert f"there is no {kind} x; next: have it created" in told["message"]


def test_evicted_job_gives_quota_back_when_no_pod_is_left(world, kueue):
    run(world, kueue, a_queued_job())
    world.after(60)
    kueue.evict()
    world.settle()
    assert world.status()["reason"] == "Evicted"
    assert world.condition("Restarting")["message"].startswith("Evicted: Preempted: ")
    assert kueue.holds_quota, "its pods still stop"
    world.kubelet.let_go()
    assert (world.names("Pod"), kueue.holds_quota) == ([], False)
    assert "admission" not in kueue.workload["status"]
    assert kueue.workload["status"]["accumulatedPastExecutionTimeSeconds"] >= 60
    assert [kueue.condition(c) for c in ("Admitted", "Requeued", "PodsReady")] == [
        "False",
        "True",
        "False",
    ]
    assert (world.phase(), world.status()["reason"]) == ("Pending", "Queued")
    run(world, kueue)
    status = world.status()
    assert (world.phase(), status["attempt"]) == ("Running", 2)
    assert "failureCount" not in status
    assert "failures" not in status


def test_note_to_make_it_inactive_goes_with_the_quota(world, kueue):
    """Kueue writes it again while the pods stop; it would stop the job that its user resumes."""
    run(world, kueue, a_queued_job())
    world.change(WORKLOAD, kueue.name, lambda each: each["spec"].update(active=False))
    kueue.evict("DeactivatedDueToMaximumExecutionTimeExceeded")
    kueue.tell(DeactivationTarget=("True", "MaximumExecutionTimeExceeded", "time is up"))
    world.settle()
    assert kueue.condition("DeactivationTarget") == "True", "its pods still stop"
    world.kubelet.let_go()
    assert (kueue.holds_quota, kueue.condition("DeactivationTarget")) == (False, "")
    requeued = condition_named(kueue.workload, "Requeued")
    assert (requeued["status"], requeued["reason"]) == ("False", "Deactivated")


def test_condition_that_came_meanwhile_is_kept(world, kueue, monkeypatch):
    run(world, kueue, a_queued_job())
    kueue.evict()
    world.settle()
    patch = world.patch
    raced: list[str] = []

    def patch_late(kind: str, name: str, body: Raw) -> None:
        if kind == WORKLOAD and not raced:
            raced.append(name)
            checked = {"type": "Checked", "status": "True", "reason": "Ready", "message": ""}
            world.change(kind, name, lambda w: w["status"]["conditions"].append(checked))
        patch(kind, name, body)

    monkeypatch.setattr(world, "patch", patch_late)
    world.kubelet.let_go()
    world.settle()
    assert (raced, kueue.condition("Checked"), kueue.holds_quota) == ([NAME], "True", False)


def test_hundred_evictions_leave_everything_as_at_first(world, kueue):
    run(world, kueue, a_queued_job())

    def shape() -> list[Raw]:
        return [
            {kind: world.names(kind) for kind in ("Pod", "Service", WORKLOAD)},
            *[pod["spec"].get("nodeSelector", {}) for pod in world.of_kind("Pod")],
            world.job()["spec"],
        ]

    first = shape()
    for number in range(100):
        kueue.evict()
        world.kubelet.let_go()
        run(world, kueue)
        assert shape() == first, number
    assert "failureCount" not in world.status()


def test_end_is_reported_once_no_pod_runs(world, kueue):
    run(world, kueue, a_queued_job())
    world.kubelet.see_end("train-worker-0", 0)
    assert kueue.workload["status"]["reclaimablePods"] == [{"name": "worker", "count": 1}]
    world.kubelet.see_end("train-worker-1", 0)
    assert world.phase() == "Completed"
    assert kueue.condition("Finished") == "True"


def test_pod_gives_its_quota_back_when_its_last_container_ends(world, kueue):
    """A container beside the trainer that runs on uses the quota, too."""
    run(world, kueue, a_queued_job())
    world.kubelet.end("train-worker-0", 0)
    world.change("Pod", "train-worker-0", lambda pod: pod["status"].update(phase="Running"))
    world.settle()
    assert world.status()["worker"]["succeeded"] == 1
    assert "reclaimablePods" not in kueue.workload["status"]
    world.change("Pod", "train-worker-0", lambda pod: pod["status"].update(phase="Succeeded"))
    world.settle()
    assert kueue.workload["status"]["reclaimablePods"] == [{"name": "worker", "count": 1}]


@pytest.mark.parametrize("label", [{"index": "7"}, {"role": "ps"}, {"attempt": "0"}])
def test_pod_with_another_label_uses_quota_until_it_stops(world, kueue, label):
    """Whoever may change pods can change their labels, but not their names."""
    run(world, kueue, a_queued_job())
    world.kubelet.end("train-worker-0", 0)
    world.change("Pod", "train-worker-0", lambda pod: pod["status"].update(phase="Running"))
    world.settle()
    changed = {f"batch.paddlepaddle.org/{key}": value for key, value in label.items()}
    world.change("Pod", "train-worker-0", lambda pod: labels_of(pod).update(changed))
    world.settle()
    assert "train-worker-0" in world.names("Pod")
    assert "reclaimablePods" not in kueue.workload["status"]


def test_worker_that_is_done_and_no_longer_wanted_uses_quota_until_it_stops(world, kueue):
    job = a_job().with_elastic_workers(3, 1, 3).with_metadata(labels=dict(LABELS))
    run(world, kueue, job)
    world.kubelet.end("train-worker-2", 0)
    world.change("Pod", "train-worker-2", lambda pod: pod["status"].update(phase="Running"))
    world.settle()
    world.amend(worker=world.job()["spec"]["worker"] | {"replicas": 2})
    assert "reclaimablePods" not in kueue.workload["status"]


def test_gang_restart_keeps_its_workload(world, kueue):
    run(world, kueue, a_queued_job().with_spec(backoffLimit=3))
    uid = kueue.workload["metadata"]["uid"]
    world.kubelet.end("train-worker-0", 1)
    world.kubelet.let_go()
    assert world.status()["attempt"] == 2
    assert (kueue.workload["metadata"]["uid"], kueue.holds_quota) == (uid, True)


def test_job_that_gives_its_room_back_keeps_its_quota(world, kueue):
    world.begin(a_queued_job())
    kueue.admit()
    world.settle()
    world.kubelet.bind("train-worker-0", "node-7")
    world.kubelet.give_address("train-worker-0")
    world.kubelet.refuse_to_bind("train-worker-1", "0/2 nodes are available: 2 Insufficient cpu.")
    world.settle()
    world.after(Settings().give_back_after_seconds)
    world.kubelet.let_go()
    assert (world.names("Pod"), kueue.holds_quota) == ([], True)
    assert world.condition("Pending")["reason"] == "PartlyPlaced"
    assert "admission" in kueue.workload["status"]


def test_suspended_job_gives_its_quota_back(world, kueue):
    run(world, kueue, a_queued_job())
    world.amend(suspend=True)
    assert kueue.workload["spec"]["active"] is False
    kueue.evict("Deactivated")
    world.kubelet.let_go()
    assert not kueue.holds_quota
    world.amend(suspend=False)
    assert kueue.workload["spec"]["active"] is True


def test_workload_that_kueue_stopped_stays_inactive(world, kueue):
    world.begin(a_queued_job())
    world.change(WORKLOAD, NAME, lambda w: w["spec"].update(active=False))
    world.settle()
    assert kueue.workload["spec"]["active"] is False
    assert "inactive" in world.condition("Pending")["message"]


@pytest.mark.parametrize("field", ["template", "count by hand", "extra Workload"])
def test_workload_that_does_not_fit_is_made_anew(world, kueue, field):
    world.begin(a_queued_job())
    uid = kueue.workload["metadata"]["uid"]
    if field == "template":
        world.amend(worker={"replicas": 2, "template": a_template(nodeSelector={"a": "b"})})
    elif field == "count by hand":
        world.change(WORKLOAD, NAME, lambda w: w["spec"]["podSets"][0].update(count=1))
    else:
        other = dict(kueue.workload["metadata"], name="another", uid="another-uid")
        world.put(kueue.workload | {"metadata": other})
    world.settle()
    assert kueue.name == NAME
    assert (kueue.workload["metadata"]["uid"] == uid) == (field == "extra Workload")
    assert kueue.workload["spec"]["podSets"][0]["count"] == 2


def test_deleted_workload_stops_the_job_and_is_made_again(world, kueue):
    run(world, kueue, a_queued_job())
    world.remove(WORKLOAD, NAME)
    world.settle()
    assert "WorkloadDeleted" in world.condition("Restarting")["message"]
    world.kubelet.let_go()
    assert (world.names("Pod"), kueue.name) == ([], NAME)


def test_workload_without_our_owner_admits_nothing(world, kueue):
    forged = {"kind": WORKLOAD, "apiVersion": "kueue.x-k8s.io/v1beta2", "spec": {"podSets": []}}
    world.put({**forged, "metadata": {"name": NAME, "labels": {}}})
    kueue.admit()
    world.submit(a_queued_job())
    for _ in range(3):
        world.work()
    assert world.names("Pod") == []
    assert world.condition("Pending")["reason"] == "NameConflict"


def test_workload_of_another_namespace_admits_nothing(world, kueue):
    world.begin(a_queued_job())
    metadata = kueue.workload["metadata"] | {"name": "forged", "namespace": "theirs", "uid": "f"}
    world.put({**kueue.workload, "metadata": metadata})
    conditions = [{"type": each, "status": "True"} for each in ("QuotaReserved", "Admitted")]
    admission = {"podSetAssignments": [{"name": "worker", "count": 2}]}
    forged = {"conditions": conditions, "admission": admission}
    world.change(WORKLOAD, "forged", lambda w: w.update(status=forged))
    world.settle()
    assert world.names("Pod") == []
    assert world.names(WORKLOAD) == ["forged", NAME], "nobody else's is deleted"


def relabel(world: World, **labels: str) -> None:
    """Put the job into another queue, or into none."""
    world.change("PaddleJob", "train", lambda job: job["metadata"].update(labels=labels))
    world.settle()


def test_label_that_changes_moves_a_held_job_and_another_once_it_is_queued_again(world, kueue):
    world.begin(a_queued_job())
    relabel(world, **{"kueue.x-k8s.io/queue-name": "team-b"})
    assert kueue.workload["spec"]["queueName"] == "team-b"
    run(world, kueue)
    relabel(world, **LABELS)
    assert (world.phase(), kueue.workload["spec"]["queueName"]) == ("Running", "team-b")
    kueue.evict()
    world.kubelet.let_go()
    assert (kueue.holds_quota, kueue.workload["spec"]["queueName"]) == (False, "team-a")


def test_label_that_goes_starts_a_held_job_but_keeps_the_quota_of_another(world, kueue):
    run(world, kueue, a_queued_job())
    relabel(world)
    assert (world.phase(), kueue.holds_quota) == ("Running", True)
    kueue.evict()
    world.kubelet.let_go()
    assert world.names(WORKLOAD) == []
    assert len(world.names("Pod")) == 2


def test_without_workloads_a_held_job_says_so_and_a_running_one_runs(world, kueue):
    world.workloads_served = False
    world.begin(a_queued_job())
    assert world.condition("Pending")["reason"] == "QueueUnavailable"
    world.workloads_served = True
    world.settle()
    run(world, kueue)
    world.workloads_served = False
    world.remove(WORKLOAD, NAME)
    world.settle()
    assert (world.phase(), len(world.names("Pod"))) == ("Running", 2)


def test_flag_taken_away_starts_a_held_job(world, kueue):
    world.begin(a_queued_job())
    world.settings = Settings()
    world.workloads_served = False
    world.settle()
    assert len(world.names("Pod")) == 2


def test_priority_comes_from_the_class(world, kueue):
    world.unwatched_objects["WorkloadPriorityClass", "high"] = {"value": 7}
    labels = LABELS | {"kueue.x-k8s.io/priority-class": "high"}
    world.begin(a_queued_job().with_metadata(labels=labels))
    assert kueue.workload["spec"]["priority"] == 7
    assert kueue.workload["spec"]["priorityClassRef"]["name"] == "high"


def test_elastic_job_runs_with_what_is_admitted(world, kueue):
    job = a_job().with_elastic_workers(4, 2, 4).with_metadata(labels=dict(LABELS))
    world.begin(job)
    assert kueue.workload["spec"]["podSets"][0]["minCount"] == 2
    kueue.admit(worker=3)
    world.settle()
    assert len(world.names("Pod")) == 3


def test_without_the_flag_pods_are_the_same(world, kueue):
    """Byte by byte, with the label and without, but for what differs between any two."""
    manifests = []
    for settings in (Settings(), Settings(kueue=True)):
        other = World(settings=settings)
        admits = Kueue(other)
        other.begin(a_queued_job())
        if settings.kueue:
            admits.admit()
            other.settle()
        for pod in other.of_kind("Pod"):
            for key in ("uid", "resourceVersion", "creationTimestamp"):
                pod["metadata"].pop(key)
        job_uid = other.job()["metadata"]["uid"]
        manifests.append((job_uid, other.of_kind("Pod")))
    assert manifests[0] == manifests[1]


@pytest.mark.parametrize("seed", range(10))
def test_killed_at_any_write_it_goes_on(seed):
    """With one Workload; the invariants see that no pod is made, or left, without quota."""
    rolls = random.Random(seed)
    for _ in range(10):
        scenario = Scenario()
        scenario.do({"do": "submit", "spec": {"workers": 2, "queue": "team-a"}})
        for _ in range(rolls.randrange(1, 4)):
            writes = rolls.choices(("ok", "killed-before", "killed-after"), (8, 1, 1), k=15)
            scenario.do({"do": "fault", "writes": writes})
            for verb in ("run", "preempt", "run"):
                scenario.do({"do": verb})
                assert len(scenario.world.names(WORKLOAD)) <= 1
        scenario.finish()
        assert "failureCount" not in scenario.world.status()
