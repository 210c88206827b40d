"""Jobs that paddle-operator 0.3 has started run on to their end under this operator.

The whole machine works on them, but for its threads: what no watch shows it must ask for.
"""

import pytest

from api.constants import ANNOTATION_RESTARTED_AT, LABEL_ATTEMPT, LABEL_JOB_UID
from api.objects import Raw, name_of, uid_of
from reconcile.attempt.adoption import names_to_ask_for
from reconcile.model.plan import Settings
from tests.memory.builders import JobBuilder, a_job
from tests.memory.former import (
    former_config_map,
    former_pod_group,
    former_pods,
    former_services,
    former_status,
)
from tests.memory.kubelet import Kubelet
from tests.memory.operator import Operator
from tests.memory.world import World

MAX_STEPS = 200
PODS = ["train-ps-0", "train-worker-0", "train-worker-1"]


@pytest.fixture
def operator(world: World) -> Operator:
    """Not begun yet: a test first lays out what it finds."""
    return Operator(world)


def the_job() -> JobBuilder:
    return a_job().with_ps(1).with_workers(2)


def leave(world: World, kubelet: Kubelet, job: JobBuilder, phase: str = "Running") -> None:
    """What the other operator leaves of a job in this phase: its pods run unless it is Pending."""
    raw = world.submit(job)
    for pod in former_pods(raw):
        world.put(pod)
        kubelet.bind(name_of(pod))
        kubelet.give_address(name_of(pod))
    if phase != "Pending":
        addresses = {name_of(p): p["status"]["podIP"] for p in world.of_kind("Pod")}
        world.put(former_config_map(raw, addresses))
        for name in world.names("Pod"):
            assert kubelet.start(name)
    state = "pending" if phase == "Pending" else "running"
    world.change("PaddleJob", "train", lambda j: j.update(status=former_status(raw, phase, state)))


def settle(world: World, operator: Operator) -> None:
    """Another process of ours looks at everything, and works until nothing is left to do."""
    for _ in range(MAX_STEPS):
        shown = operator.show_all()
        world.advance(0.2)
        if not operator.work() and not shown and (operator.queue.seconds_to_next() or 60) > 5:
            return
    raise AssertionError("still at work")


def run(world: World, kubelet: Kubelet, operator: Operator) -> None:
    """A job of ours starts, and its pods run."""
    for _ in range(MAX_STEPS):
        operator.show_all()
        operator.work()
        kubelet.reap_all()
        kubelet.place_all()
        kubelet.start_all()
        world.advance(0.2)


def uids(world: World, kind: str = "Pod") -> dict[str, str]:
    return {name_of(obj): uid_of(obj) for obj in world.of_kind(kind)}


def test_running_job_keeps_its_pods_and_completes(
    world: World, kubelet: Kubelet, operator: Operator
) -> None:
    leave(world, kubelet, the_job())
    before = uids(world), uids(world, "ConfigMap")
    operator.restart(is_warm=False)
    settle(world, operator)
    assert (uids(world), uids(world, "ConfigMap")) == before
    status = world.status()
    assert (status["phase"], status["attempt"]) == ("Running", 1)
    assert status["startTime"] == "2026-01-02T03:00:00Z"
    assert status["worker"]["ready"] == "2/2"
    assert world.condition("Adopted")["status"] == "True"
    assert [event.reason for event in world.told] == ["Adopted"]
    assert world.counted == []
    for name in ("train-worker-0", "train-worker-1"):
        kubelet.end(name, 0)
    settle(world, operator)
    assert world.phase() == "Completed"
    assert "restartCount" not in world.status()


@pytest.mark.parametrize(
    ("policy", "left"),
    [("Never", PODS), ("Always", []), ("OnFailure", PODS), ("OnCompletion", [])],
)
def test_pods_are_cleaned_as_the_spec_says(
    world: World, kubelet: Kubelet, operator: Operator, policy: str, left: list[str]
) -> None:
    leave(world, kubelet, the_job().with_spec(cleanPodPolicy=policy))
    operator.restart(is_warm=False)
    settle(world, operator)
    for name in ("train-worker-0", "train-worker-1"):
        kubelet.end(name, 0)
    settle(world, operator)
    kubelet.reap_all()
    assert world.phase() == "Completed"
    assert world.names("Pod") == left


def test_pods_that_ended_while_no_operator_looked_complete_the_job(
    world: World, kubelet: Kubelet, operator: Operator
) -> None:
    leave(world, kubelet, the_job().with_spec(cleanPodPolicy="Never"))
    before = uids(world)
    for name in ("train-worker-0", "train-worker-1"):
        kubelet.end(name, 0)
    operator.restart(is_warm=False)
    settle(world, operator)
    assert world.phase() == "Completed"
    assert uids(world) == before


def test_failure_afterwards_leads_to_an_attempt_of_our_own(
    world: World, kubelet: Kubelet, operator: Operator
) -> None:
    leave(world, kubelet, the_job().with_spec(backoffLimit=1))
    operator.restart(is_warm=False)
    settle(world, operator)
    kubelet.end("train-worker-1", 1)
    settle(world, operator)
    kubelet.reap_all()
    settle(world, operator)
    pods = world.of_kind("Pod")
    assert {pod["metadata"]["labels"][LABEL_ATTEMPT] for pod in pods} == {"2"}
    assert world.status()["failureCount"] == 1
    assert world.condition("Adopted")["status"] == "False"


def test_services_and_restarts_in_place_are_left_alone(
    world: World, kubelet: Kubelet, operator: Operator
) -> None:
    job = the_job().with_spec(intranet="Service")
    leave(world, kubelet, job)
    for service in former_services(world.job()):
        world.put(service)
    for _ in range(7):  # more than a job of ours may have without a backoffLimit
        kubelet.restart("train-worker-0")
    world.change("Pod", "train-worker-0", lambda p: p["spec"].update(restartPolicy="OnFailure"))
    before = uids(world), uids(world, "Service")
    operator.restart(is_warm=False)
    settle(world, operator)
    assert (uids(world), uids(world, "Service")) == before
    assert world.phase() == "Running"


def test_pod_group_of_the_other_operator_is_no_trouble_and_goes_with_the_pods(
    world: World, kubelet: Kubelet, operator: Operator
) -> None:
    world.settings = Settings(scheduling="volcano")
    leave(world, kubelet, the_job())
    world.put(former_pod_group(world.job()))
    for pod in world.of_kind("Pod"):
        group = {"scheduling.k8s.io/group-name": "train"}
        world.change("Pod", name_of(pod), lambda p, g=group: p["metadata"].update(annotations=g))
    before = uids(world), uids(world, "PodGroup")
    operator.restart(is_warm=False)
    settle(world, operator)
    assert (uids(world), uids(world, "PodGroup")) == before
    assert world.condition("Running")["reason"] == "AllPodsRunning"
    assert [event.type for event in world.told] == ["Normal"]
    for name in ("train-worker-0", "train-worker-1"):
        kubelet.end(name, 0)
    settle(world, operator)
    assert world.names("PodGroup") == []


def test_ports_on_the_hosts_stay_as_they_are(
    world: World, kubelet: Kubelet, operator: Operator
) -> None:
    leave(world, kubelet, the_job().with_spec(intranet="Host"))
    kubelet.wait("train-worker-1", "ContainerCreating")
    before = uids(world)
    operator.restart(is_warm=False)
    settle(world, operator)
    assert uids(world) == before
    assert world.condition("Pending")["reason"] == "WaitingForPods"
    assert "hostPorts" not in world.status()


def test_job_with_a_worker_that_is_held_back_begins_anew_when_asked(
    world: World, kubelet: Kubelet, operator: Operator
) -> None:
    """The other operator lets pods go one by one, and did not come to the last."""
    leave(world, kubelet, the_job())
    kubelet.wait("train-worker-1", "PodInitializing")
    before = uids(world)
    operator.restart(is_warm=False)
    settle(world, operator)
    assert uids(world) == before
    asked = {ANNOTATION_RESTARTED_AT: "now"}
    world.change("PaddleJob", "train", lambda job: job["metadata"].update(annotations=asked))
    run(world, kubelet, operator)
    assert not uids(world).items() & before.items()
    assert (world.phase(), world.status()["attempt"]) == ("Running", 2)


def test_spec_that_a_rule_of_ours_forbids_does_not_end_what_runs(
    world: World, kubelet: Kubelet, operator: Operator
) -> None:
    template = {
        "spec": {
            "containers": [{"name": "paddle", "env": [{"name": "PADDLE_PORT", "value": "99999"}]}]
        }
    }
    leave(world, kubelet, a_job().with_workers(2, template))
    before = uids(world)
    operator.restart(is_warm=False)
    settle(world, operator)
    assert (world.phase(), uids(world)) == ("Running", before)


def test_adopted_job_with_a_wrong_image_name_fails_when_it_says_so(
    world: World, kubelet: Kubelet, operator: Operator
) -> None:
    leave(world, kubelet, the_job())
    operator.restart(is_warm=False)
    settle(world, operator)
    assert world.condition("Adopted")["status"] == "True"
    kubelet.wait("train-worker-1", "InvalidImageName", "no")
    settle(world, operator)
    assert "this job fails at" in world.condition("Pending")["message"]
    world.advance(61)
    settle(world, operator)
    assert (world.phase(), world.condition("Failed")["reason"]) == ("Failed", "ImageError")


def test_job_in_which_nothing_has_begun_is_made_anew(
    world: World, kubelet: Kubelet, operator: Operator
) -> None:
    leave(world, kubelet, the_job(), "Pending")
    before = uids(world)
    operator.restart(is_warm=False)
    for _ in range(MAX_STEPS):
        operator.show_all()
        operator.work()
        kubelet.reap_all()
        world.advance(0.2)
    after = uids(world)
    assert after.keys() == before.keys()
    assert not after.items() & before.items()
    assert all(LABEL_JOB_UID in pod["metadata"]["labels"] for pod in world.of_kind("Pod"))
    assert world.condition("Adopted") == {}
    assert "restartCount" not in world.status()


@pytest.mark.parametrize("fault", ["killed-before", "killed-after", "lost", "unheard"])
def test_fault_at_any_write_changes_nothing(
    world: World, kubelet: Kubelet, operator: Operator, fault: str
) -> None:
    leave(world, kubelet, the_job())
    before = uids(world)
    operator.restart(is_warm=False)
    operator.faults += [fault, "ok", fault, fault, "ok", fault]
    settle(world, operator)
    assert len(operator.faults) < 3  # what is left met no write
    assert uids(world) == before
    assert (world.phase(), world.status()["attempt"]) == ("Running", 1)
    assert world.condition("Adopted")["status"] == "True"
    assert "restartCount" not in world.status()


def test_standby_whose_watches_are_late_takes_no_pod_for_missing(
    world: World, kubelet: Kubelet, operator: Operator
) -> None:
    leave(world, kubelet, the_job())
    before = uids(world), uids(world, "ConfigMap")
    operator.restart(is_warm=False)
    assert operator.work()
    assert all(LABEL_JOB_UID in pod["metadata"]["labels"] for pod in world.of_kind("Pod"))
    operator.restart(is_warm=True)
    assert operator.work()
    settle(world, operator)
    assert (uids(world), uids(world, "ConfigMap")) == before
    assert world.condition("Adopted")["status"] == "True"


def test_crd_of_the_other_operator_drops_our_status_and_the_job_waits_for_ours(
    world: World, kubelet: Kubelet, operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has a phase and no attempt, so the status that is stored stays the other operator's."""
    leave(world, kubelet, the_job())
    before = uids(world), uids(world, "ConfigMap")

    def patch_status(name: str, patch: Raw) -> None:
        known = {key: patch["status"][key] for key in ("phase", "mode") if key in patch["status"]}
        job = world.job(name)
        if job["status"] | known != job["status"]:
            World.patch_status(world, name, {**patch, "status": known})

    with monkeypatch.context() as older:
        older.setattr(world, "patch_status", patch_status)
        operator.restart(is_warm=False)
        settle(world, operator)
    assert "attempt" not in world.status()
    assert (uids(world), uids(world, "ConfigMap")) == before
    assert world.told == []
    world.advance(30)
    settle(world, operator)
    assert world.condition("Adopted")["status"] == "True"
    assert (uids(world), uids(world, "ConfigMap")) == before


@pytest.mark.parametrize("attempt", [1, 2])
def test_job_of_ours_whose_attempt_an_older_crd_has_dropped_goes_on(
    world: World, kubelet: Kubelet, operator: Operator, attempt: int
) -> None:
    world.submit(the_job().with_spec(backoffLimit=1))
    operator.restart(is_warm=False)
    run(world, kubelet, operator)
    if attempt == 2:
        kubelet.end("train-worker-1", 1)
        run(world, kubelet, operator)
    assert (world.phase(), world.status()["attempt"]) == ("Running", attempt)
    before = uids(world), uids(world, "ConfigMap")
    told = {key: world.status()[key] for key in ("phase", "mode", "startTime")}
    world.change("PaddleJob", "train", lambda job: job.update(status=told))
    operator.restart(is_warm=False)
    settle(world, operator)
    assert (uids(world), uids(world, "ConfigMap")) == before
    assert (world.phase(), world.status()["attempt"]) == ("Running", attempt)
    assert not world.status().get("restartCount"), "it is in that attempt from the first pass on"
    assert world.condition("Adopted") == {}
    kubelet.end_all("worker")
    settle(world, operator)
    assert world.phase() == "Completed"


@pytest.mark.parametrize("phase", ["Completed", "Failed"])
def test_ended_job_is_left_as_it_is(
    world: World, kubelet: Kubelet, operator: Operator, phase: str
) -> None:
    leave(world, kubelet, the_job(), phase)
    before = dict(world.objects)
    operator.restart(is_warm=False)
    settle(world, operator)
    assert world.objects == before
    assert not world.told
    assert not world.counted


def test_pod_that_lost_its_labels_runs_on(
    world: World, kubelet: Kubelet, operator: Operator
) -> None:
    leave(world, kubelet, the_job())
    for name in ("train-worker-0", "train-worker-1"):
        world.change("Pod", name, lambda pod: pod["metadata"].update(labels={}))
    before = uids(world)
    operator.restart(is_warm=False)
    settle(world, operator)
    assert uids(world) == before
    assert world.condition("Adopted")["status"] == "True"


def test_pod_of_that_name_that_is_not_the_jobs_is_not_touched(
    world: World, kubelet: Kubelet, operator: Operator
) -> None:
    leave(world, kubelet, the_job())
    forged = world.change(
        "Pod", "train-worker-1", lambda p: p["metadata"]["ownerReferences"][0].update(uid="other")
    )
    operator.restart(is_warm=False)
    settle(world, operator)
    assert world.get("Pod", "train-worker-1") == forged


def test_job_without_workers_is_left_alone_and_says_so(
    world: World, kubelet: Kubelet, operator: Operator
) -> None:
    leave(world, kubelet, a_job().with_ps(2))
    before = uids(world)
    operator.restart(is_warm=False)
    settle(world, operator)
    condition = world.condition("Adopted")
    assert (condition["status"], condition["reason"]) == ("False", "InvalidSpec")
    assert [event.type for event in world.told] == ["Warning"]
    assert uids(world) == before
    assert world.phase() == "Running"


def asked(**status: object) -> tuple[str, ...]:
    return names_to_ask_for(the_job().with_status(**status).build())


def test_only_jobs_of_another_operator_that_run_are_asked_for() -> None:
    assert set(asked(phase="Running")) == set(PODS)
    assert asked(phase="Running", attempt=1) == asked(phase="Failed") == asked() == ()
    others = the_job().with_status(phase="Running").with_spec(managedBy="kueue.x-k8s.io/multikueue")
    assert names_to_ask_for(others.build()) == ()
    broken: Raw = the_job().build() | {"status": "x"}
    assert names_to_ask_for(broken) == ()
