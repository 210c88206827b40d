"""Why a job waits, in one sentence that does not tick."""

import pytest

from api.objects import Raw
from api.trainer import devices_of, most_devices, too_many_devices
from reconcile.model.hold import Hold
from reconcile.model.plan import Refusal, Settings
from tests.memory.builders import (
    PodBuilder,
    a_config_map,
    a_job,
    a_pod,
    a_template,
    cause_of,
    stamp,
    view_of,
    wait_of,
)
from tests.memory.world import World, writes_nothing

JOB = a_job().with_ps(1).with_workers(3).build()
NO_GPU = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu"
QUOTA = Refusal("Pod", "train-worker-0", "Forbidden", "exceeded quota: gpu, requested: 4", 403)
TAKEN = Refusal("ConfigMap", "train", "AlreadyExists", "exists", 409)


def unscheduled(index: int, seconds: float) -> PodBuilder:
    return a_pod(JOB, index=index).with_condition(
        "PodScheduled", "False", seconds, reason="Unschedulable", message=NO_GPU
    )


def test_pods_without_a_node_are_counted_since_the_first():
    wait = wait_of(view_of(JOB, unscheduled(1, 60), unscheduled(0, 5)))
    assert wait.reason == "Unschedulable"
    assert wait.cause == f"2 of 4 pods unscheduled since 03:04:10Z: {NO_GPU}"


def test_gates_that_others_set_are_no_lack_of_nodes():
    gated = a_pod(JOB).with_condition(
        "PodScheduled", "False", reason="SchedulingGated", message="Scheduling is blocked"
    )
    next_step = "remove their schedulingGates, or wait for whoever set them"
    assert wait_of(view_of(JOB, gated)).next_step == next_step


def test_taken_name_is_told_before_a_quota_which_is_counted():
    wait = wait_of(view_of(JOB, refusals=(TAKEN, QUOTA)))
    assert (wait.reason, wait.more) == ("NameConflict", " (and 1 more)")
    assert wait.cause.startswith("ConfigMap train exists and does not belong to this job")


@pytest.mark.parametrize(
    ("most", "never_fits"),
    [(None, False), ({}, True), ({"nvidia.com/gpu": 4}, True), ({"nvidia.com/gpu": 5}, False)],
)
def test_more_devices_than_any_node_has_are_not_waited_for(most, never_fits):
    template = a_template()
    (trainer,) = template["spec"]["containers"]
    trainer["resources"] = {"limits": {"nvidia.com/gpu": "4", "cpu": "1"}}
    loader = {"name": "loader", "resources": {"requests": {"nvidia.com/gpu": 1}}}
    template["spec"]["containers"] = [trainer, loader]
    job = a_job().with_workers(2, template).build()
    pod = a_pod(job).with_condition("PodScheduled", "False", message=NO_GPU)
    told = wait_of(view_of(job, pod, most_devices=most)).next_step
    assert ("no node of the cluster" in told) == never_fits
    assert ("wait for room" in told) != never_fits


@pytest.mark.parametrize(("asked", "fits"), [("1", True), ("2k", True), ("2001", False)])
def test_thousands_of_devices_are_read_as_the_api_server_writes_them(asked, fits):
    node = {"status": {"allocatable": {"vendor.com/slice": "2k", "cpu": "8"}}}
    pod_spec = {"containers": [{"resources": {"limits": {"vendor.com/slice": asked}}}]}
    found = too_many_devices(pod_spec, most_devices([devices_of(node)]))
    assert found == ([] if fits else [("vendor.com/slice", 2001, 2000)])


@pytest.mark.parametrize(
    ("scheduler", "is_seen", "is_told"),
    [("volcanoo", False, True), ("volcanoo", True, False), ("default-scheduler", False, False)],
)
def test_scheduler_that_looks_at_no_pod_is_named(scheduler, is_seen, is_told):
    job = a_job().with_workers(2, a_template(schedulerName=scheduler)).build()
    pods = [a_pod(job, index=index) for index in range(2)]
    told = wait_of(view_of(job, *(pod.bound() if is_seen else pod for pod in pods)))
    assert told.reason == "WaitingForPods"
    assert told.cause.startswith(f"scheduler {scheduler} has not handled") == is_told


def waiting(reason: str, message: str = "") -> Raw:
    return {"waiting": {"reason": reason, "message": message}}


NAMED = {
    "sandbox": (("ContainerCreating", "no ports"), None, "train-worker-0: ContainerCreating: no p"),
    "trainer": (("CrashLoopBackOff", "10s"), None, "train-worker-0: CrashLoopBackOff: 10s"),
    "native-sidecar": (
        ("PodInitializing", ""),
        ("CrashLoopBackOff", "back-off 5m"),
        "train-worker-0 (logs): CrashLoopBackOff: back-off 5m",
    ),
    "unexpected": (("Warming", "..."), None, "train-worker-0: Warming: ..."),
    "nothing-yet": (("ContainerCreating", ""), None, "waiting for 4 pods to start"),
    "initializing": (("PodInitializing", ""), None, "waiting for 4 pods to start"),
}


@pytest.mark.parametrize(("trainer", "init", "cause"), NAMED.values(), ids=NAMED)
def test_container_that_waits_is_named_in_its_kubelets_words(trainer, init, cause):
    pod = a_pod(JOB).bound().with_address("10.0.0.1").waiting(*trainer)
    if init:
        pod.with_init_container("logs", waiting(*init))
    wait = wait_of(view_of(JOB, pod))
    assert wait.cause.startswith(cause)
    assert "expected" not in wait.message


OWN = 'configmap "train" not found'


@pytest.mark.parametrize(
    ("reason", "text", "is_made", "is_expected"),
    [
        pytest.param("CreateContainerConfigError", OWN, False, True, id="not-made-yet"),
        pytest.param("CreateContainerConfigError", OWN, True, False, id="not-seen-by-its-node"),
        pytest.param(
            "CreateContainerConfigError", 'secret "s" not found', False, False, id="other"
        ),
        pytest.param("ContainerCreating", "", False, False, id="creating"),
    ],
)
def test_only_the_wait_for_the_config_map_is_expected(reason, text, is_made, is_expected):
    pod = a_pod(JOB).bound().with_address("10.0.0.1").waiting(reason, text)
    maps = (a_config_map(),) if is_made else ()
    assert (
        "this is expected" in wait_of(view_of(JOB, pod, config_maps=maps)).message
    ) == is_expected


@pytest.mark.parametrize(
    ("address", "seconds", "is_told", "looks_after"),
    [
        pytest.param("", 119, False, 1, id="not-yet"),
        pytest.param("", 120, True, None, id="after-two-minutes"),
        pytest.param("10.0.0.1", 9999, False, None, id="with-an-address"),
    ],
)
def test_pod_that_gets_no_address_is_named(address, seconds, is_told, looks_after):
    volumes = [{"name": "data", "nfs": {}}, {"name": "shm", "emptyDir": {}}]
    job = a_job().with_workers(2, a_template(volumes=volumes)).build()
    pod = a_pod(job).bound().with_address(address).waiting("ContainerCreating")
    wait = wait_of(view_of(job, pod, seconds=seconds))
    assert ("kubectl describe pod train-worker-0 -n default" in wait.next_step) == is_told
    assert ("a volume (data)" in wait.cause) == is_told
    assert wait.seconds == looks_after


INITIALIZED = {
    "sidecar-that-is-not-started": (["proxy"], "False", True),
    "after-sidecars-that-are": (["proxy", "fetch"], "False", True),
    "sidecars-that-are": (["proxy"], "True", False),
    "none-that-runs": ([], "False", False),
}


@pytest.mark.parametrize(("names", "status", "is_told"), INITIALIZED.values(), ids=INITIALIZED)
def test_init_container_that_takes_long_is_named(names, status, is_told):
    pod = a_pod(JOB).bound().with_address("10.0.0.1").waiting("PodInitializing")
    pod.with_condition("Initialized", status)
    for name in names:
        pod.with_init_container(name, {"running": {"startedAt": stamp(9)}})
    pod.with_init_container("later", waiting("PodInitializing"))
    early, late = (wait_of(view_of(JOB, pod, seconds=seconds)) for seconds in (128, 129))
    assert early.cause == "waiting for 4 pods to start"
    assert early.seconds == (1 if is_told else None)
    told = "train-worker-0 waits for its init container {}, which has run since 03:04:14Z"
    assert late.cause == (told.format(names[-1]) if is_told else "waiting for 4 pods to start")


@pytest.mark.parametrize(
    ("pod", "is_told"),
    [
        pytest.param(a_pod(JOB), True, id="no-scheduler"),
        pytest.param(a_pod(JOB).bound().with_address("10.0.0.1"), False, id="bound"),
        pytest.param(a_pod(JOB).deleting(), False, id="going"),
    ],
)
def test_pod_that_no_scheduler_handles_is_named(pod, is_told):
    """Its scheduler is down, or a webhook has given the pod one that is."""
    early, late = (wait_of(view_of(JOB, pod, seconds=seconds)) for seconds in (119, 120))
    assert (early.cause, early.seconds == 1) == ("waiting for 4 pods to start", is_told)
    assert (
        late.cause.startswith("no scheduler has handled train-worker-0 since 03:04:05Z") == is_told
    )


def initializing(index: int) -> PodBuilder:
    pod = (
        a_pod(JOB, index=index)
        .bound()
        .with_address("10.0.0.1")
        .with_condition("Initialized", "False")
    )
    return pod.with_init_container("fetch", {"running": {"startedAt": stamp()}})


def test_of_pods_that_wait_too_long_the_first_is_named_with_what_it_lacks_first():
    bound, last = a_pod(JOB, index=1).bound(), initializing(0)
    late = wait_of(view_of(JOB, last, bound, a_pod(JOB, index=2).bound(), seconds=500))
    assert late.message.startswith("train-worker-1 on node-1 still has no address")
    assert " (and 1 more); next: " in late.message
    first = wait_of(view_of(JOB, bound, a_pod(JOB, index=2), seconds=500))
    assert first.cause.startswith("no scheduler has handled train-worker-2")
    gone = wait_of(view_of(JOB, last.deleting(30), seconds=500))
    assert gone.cause == "waiting for 4 pods to start"


SILENT = {
    "not-ready-but-healthy": ([("Ready", "False", ""), ("ContainersReady", "True", "")], {}, True),
    "unknown": ([], {"phase": "Unknown", "reason": "NodeLost"}, True),
    "a-probe-fails": ([("Ready", "False", ""), ("ContainersReady", "False", "")], {}, False),
    "a-gate-is-closed": (
        [("Ready", "False", "ReadinessGatesNotReady"), ("ContainersReady", "True", "")],
        {},
        False,
    ),
    "no-kubelets": ([("Ready", "False", "")], {}, False),
    "ready": ([("Ready", "True", "")], {}, False),
}


@pytest.mark.parametrize(("conditions", "status", "is_lost"), SILENT.values(), ids=SILENT)
def test_node_that_does_not_answer_is_told_and_ends_nothing(world, conditions, status, is_lost):
    world.run(a_job().with_workers(2))

    def edit(pod: Raw) -> None:
        told = [{"type": t, "status": s, "reason": r} for t, s, r in conditions]
        pod["status"] |= {"conditions": told, **status}

    world.change("Pod", "train-worker-1", edit)
    world.after(3600)
    said = [each["message"] for each in world.status()["conditions"]]
    events = [event.reason for event in world.told]
    assert any("node-1 with train-worker-1 has not answered" in each for each in said) == is_lost
    assert ("NodeLost" in events) == is_lost
    assert events.count("NodeLost") <= 1
    assert (world.phase(), world.status()["attempt"]) != ("Failed", 2)
    world.kubelet.start("train-worker-1")
    world.change("Pod", "train-worker-1", lambda pod: pod["status"].pop("conditions"))
    world.settle()
    assert (world.phase(), world.condition("Running")["reason"]) == ("Running", "AllPodsRunning")


def test_wait_does_not_rewrite_itself(world):
    world.begin(a_job().with_workers(2))
    world.kubelet.refuse_to_bind("train-worker-0", NO_GPU)
    world.settle()
    world.advance(3600)
    assert writes_nothing(world.work())


def reported(hold: Hold) -> Raw:
    pending = {"type": "Pending", "status": "True", "reason": hold.reason, "message": hold.message}
    waiting = {"cause": hold.cause, "child": hold.child, "state": hold.state}
    waiting |= {"grace": hold.grace, "since": stamp()}
    job = a_job().with_ps(1).with_workers(3)
    return job.with_status(conditions=[pending], waiting=waiting).build()


def test_pull_that_is_tried_again_and_again_is_told_once():
    failing = [a_pod(JOB, index=i).bound().waiting("ErrImagePull", "no such") for i in range(2)]
    hold = wait_of(view_of(JOB, *failing))
    told, job = hold.message, reported(hold)
    waits = [a_pod(JOB, index=i).bound().waiting("ImagePullBackOff", "later") for i in range(2)]
    assert wait_of(view_of(job, *waits)).message == told
    assert wait_of(view_of(job, waits[0])).message == told.replace(" (and 1 more)", "")


def test_sentence_does_not_follow_the_order_of_news():
    pods = [
        a_pod(JOB, index=index).with_condition("PodScheduled", "False", message=f"no {index}")
        for index in range(2)
    ]
    told = wait_of(view_of(JOB, *pods)).message
    assert wait_of(view_of(JOB, *reversed(pods))).message == told


def test_pod_that_was_told_of_stays_the_one():
    late, early = (a_pod(JOB, index=i).bound().waiting("ErrImagePull", "no such") for i in range(2))
    hold = wait_of(view_of(JOB, early))
    now = wait_of(view_of(reported(hold), late, early))
    assert (now.cause, now.more) == (hold.cause, " (and 1 more)")


def begin_without_room(world: World, message: str) -> str:
    """A job whose PodGroup Volcano says this of; the group's name."""
    world.settings = Settings(scheduling="volcano")
    world.volcano_served = True
    world.begin(a_job().with_workers(2))
    (name,) = world.names("PodGroup")
    refused = {"type": "Unschedulable", "status": "True", "message": message}
    world.change("PodGroup", name, lambda group: group.update(status={"conditions": [refused]}))
    return name


def test_pod_group_that_is_not_let_in_is_told(world):
    name = begin_without_room(world, "queue default is full")
    world.settle()
    pending = world.condition("Pending")
    assert pending["reason"] == "PodGroupPending"
    assert cause_of(pending["message"]) == "PodGroup not scheduled: queue default is full"
    world.change("PodGroup", name, lambda group: group["status"].update(phase="Pending"))
    world.settle()
    told = cause_of(world.condition("Pending")["message"])
    assert told == "PodGroup not enqueued: queue default is full"


def test_pod_group_that_waited_once_is_not_told_of_placed_pods(world):
    """Volcano adds the condition Scheduled then, and leaves this one true."""
    begin_without_room(world, "2/2 tasks in gang ...")
    for pod in ("train-worker-0", "train-worker-1"):
        world.change("Pod", pod, lambda pod: pod["spec"].update(nodeName="node-1"))
    world.settle()
    assert world.condition("PodsScheduled")["status"] == "True"
    assert world.condition("Pending")["reason"] == "WaitingForPods"


def test_refusal_is_told_once(world):
    refusal = Refusal("Pod", "train-worker-1", "Forbidden", "no", 403)
    world.refusals[refusal.child] = refusal
    world.begin(a_job().with_workers(2))
    world.after(10)
    assert [event.reason for event in world.told].count("CreateRefused") == 1
    assert world.names("Pod") == ["train-worker-0"]
