"""Jobs that paddle-operator 0.3 has started run on to their end under this operator.

The whole machine works on them, but for its threads: what no watch shows it must ask for.
"""

from functools import cached_property

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
from tests.memory.operator import Operator
from tests.memory.world import CHILDREN, World

MAX_STEPS = 200
PODS = ["train-ps-0", "train-worker-0", "train-worker-1"]


def the_job() -> JobBuilder:
    return a_job().with_ps(1).with_workers(2)


class Left(World):
    """What the other operator has left; ours has not begun yet."""

    @cached_property
    def operator(self) -> Operator:
        return Operator(self)

    def leave(self, job: JobBuilder, phase: str = "Running") -> dict[str, str]:
        """A job in this phase: its pods run unless it is Pending. The UIDs of its children."""
        raw = self.submit(job)
        for pod in former_pods(raw):
            self.put(pod)
            self.kubelet.bind(name_of(pod))
            self.kubelet.give_address(name_of(pod))
        if phase != "Pending":
            addresses = {name_of(p): p["status"]["podIP"] for p in self.of_kind("Pod")}
            self.put(former_config_map(raw, addresses))
            assert all(self.kubelet.start(name) for name in self.names("Pod"))
        status = former_status(raw, phase, "pending" if phase == "Pending" else "running")
        self.change("PaddleJob", "train", lambda job: job.update(status=status))
        return self.uids()

    def take_over(self) -> None:
        """Another process of ours looks at everything, and works until nothing is left to do."""
        self.operator.restart(is_warm=False)
        self.keep_up()

    def keep_up(self) -> None:
        """Our operator works until nothing is left to do."""
        for _ in range(MAX_STEPS):
            shown = self.operator.show_all()
            self.advance(0.2)
            later = self.operator.queue.seconds_to_next() or 60
            if not self.operator.work() and not shown and later > 5:
                return
        raise AssertionError("still at work")

    def begin_ours(self) -> None:
        """A job of ours starts, and its pods run."""
        for _ in range(MAX_STEPS):
            self.operator.show_all()
            self.operator.work()
            self.kubelet.reap_all()
            self.kubelet.place_all()
            self.kubelet.start_all()
            self.advance(0.2)

    def uids(self, *kinds: str) -> dict[str, str]:
        """The UIDs of the children of these kinds, or of all, by kind and name."""
        kinds = kinds or CHILDREN
        return {"/".join(at): uid_of(obj) for at, obj in self.objects.items() if at[0] in kinds}


@pytest.fixture
def world() -> Left:
    return Left()


def test_running_job_keeps_its_pods_and_completes(world):
    before = world.leave(the_job())
    world.take_over()
    assert world.uids() == before
    status = world.status()
    assert (status["phase"], status["attempt"]) == ("Running", 1)
    assert status["startTime"] == "2026-01-02T03:00:00Z"
    assert status["worker"]["ready"] == "2/2"
    assert world.condition("Adopted")["status"] == "True"
    assert [event.reason for event in world.told] == ["Adopted"]
    assert world.counted == []
    world.kubelet.end_all("worker")
    world.keep_up()
    assert world.phase() == "Completed"
    assert "restartCount" not in world.status()
    world.kubelet.reap_all()
    assert world.names("Pod") == ["train-worker-0", "train-worker-1"], "what has ended stays"


def test_pods_that_ended_while_no_operator_looked_complete_the_job(world):
    before = world.leave(the_job().with_spec(cleanPodPolicy="Never"))
    world.kubelet.end_all("worker")
    world.take_over()
    assert world.phase() == "Completed"
    assert world.uids() == before


def test_failure_afterwards_leads_to_an_attempt_of_our_own(world):
    world.leave(the_job().with_spec(backoffLimit=1))
    world.take_over()
    world.kubelet.end("train-worker-1", 1)
    world.keep_up()
    world.kubelet.reap_all()
    world.keep_up()
    pods = world.of_kind("Pod")
    assert {pod["metadata"]["labels"][LABEL_ATTEMPT] for pod in pods} == {"2"}
    assert world.status()["failureCount"] == 1
    assert world.condition("Adopted")["status"] == "False"


def test_services_and_restarts_in_place_are_left_alone(world):
    job = the_job().with_spec(intranet="Service")
    world.leave(job)
    for service in former_services(world.job()):
        world.put(service)
    for _ in range(7):  # more than a job of ours may have without a backoffLimit
        world.kubelet.restart("train-worker-0")
    world.change("Pod", "train-worker-0", lambda p: p["spec"].update(restartPolicy="OnFailure"))
    before = world.uids()
    world.take_over()
    assert world.uids() == before
    assert world.phase() == "Running"


def test_pod_group_of_the_other_operator_is_no_trouble_and_goes_with_the_pods(world):
    world.settings = Settings(scheduling="volcano")
    world.leave(the_job())
    world.put(former_pod_group(world.job()))
    for pod in world.of_kind("Pod"):
        group = {"scheduling.k8s.io/group-name": "train"}
        world.change("Pod", name_of(pod), lambda p, g=group: p["metadata"].update(annotations=g))
    before = world.uids()
    world.take_over()
    assert world.uids() == before
    assert world.condition("Running")["reason"] == "AllPodsRunning"
    assert [event.type for event in world.told] == ["Normal"]
    world.kubelet.end_all("worker")
    world.keep_up()
    assert world.names("PodGroup") == []


def test_ports_on_the_hosts_stay_as_they_are(world):
    world.leave(the_job().with_spec(intranet="Host"))
    world.kubelet.wait("train-worker-1", "ContainerCreating")
    before = world.uids()
    world.take_over()
    assert world.uids() == before
    assert world.condition("Pending")["reason"] == "WaitingForPods"
    assert "hostPorts" not in world.status()


def test_job_with_a_worker_that_is_held_back_begins_anew_when_asked(world):
    """The other operator lets pods go one by one, and did not come to the last."""
    world.leave(the_job())
    world.kubelet.wait("train-worker-1", "PodInitializing")
    before = world.uids("Pod")
    world.take_over()
    assert world.uids("Pod") == before
    asked = {ANNOTATION_RESTARTED_AT: "now"}
    world.change("PaddleJob", "train", lambda job: job["metadata"].update(annotations=asked))
    world.begin_ours()
    assert not world.uids("Pod").items() & before.items()
    assert (world.phase(), world.status()["attempt"]) == ("Running", 2)


def test_spec_that_a_rule_of_ours_forbids_does_not_end_what_runs(world):
    template = {
        "spec": {
            "containers": [{"name": "paddle", "env": [{"name": "PADDLE_PORT", "value": "99999"}]}]
        }
    }
    before = world.leave(a_job().with_workers(2, template))
    world.take_over()
    assert (world.phase(), world.uids()) == ("Running", before)


def test_adopted_job_with_a_wrong_image_name_fails_when_it_says_so(world):
    world.leave(the_job())
    world.take_over()
    assert world.condition("Adopted")["status"] == "True"
    world.kubelet.wait("train-worker-1", "InvalidImageName", "no")
    world.keep_up()
    assert "this job fails at" in world.condition("Pending")["message"]
    world.advance(61)
    world.keep_up()
    assert (world.phase(), world.condition("Failed")["reason"]) == ("Failed", "ImageError")


def test_job_in_which_nothing_has_begun_is_made_anew(world):
    before = world.leave(the_job(), "Pending")
    world.operator.restart(is_warm=False)
    world.begin_ours()
    after = world.uids("Pod")
    assert after.keys() == before.keys()
    assert not after.items() & before.items()
    assert all(LABEL_JOB_UID in pod["metadata"]["labels"] for pod in world.of_kind("Pod"))
    assert world.condition("Adopted") == {}
    assert "restartCount" not in world.status()


@pytest.mark.parametrize("fault", ["killed-before", "killed-after", "lost", "unheard"])
def test_fault_at_any_write_changes_nothing(world, fault):
    before = world.leave(the_job())
    world.operator.restart(is_warm=False)
    world.operator.faults += [fault, "ok", fault, fault, "ok", fault]
    world.keep_up()
    assert len(world.operator.faults) < 3  # what is left met no write
    assert world.uids() == before
    assert (world.phase(), world.status()["attempt"]) == ("Running", 1)
    assert world.condition("Adopted")["status"] == "True"
    assert "restartCount" not in world.status()


def test_standby_whose_watches_are_late_takes_no_pod_for_missing(world):
    before = world.leave(the_job())
    world.operator.restart(is_warm=False)
    assert world.operator.work()
    assert all(LABEL_JOB_UID in pod["metadata"]["labels"] for pod in world.of_kind("Pod"))
    world.operator.restart(is_warm=True)
    assert world.operator.work()
    world.keep_up()
    assert world.uids() == before
    assert world.condition("Adopted")["status"] == "True"


def test_crd_of_the_other_operator_drops_our_status_and_the_job_waits_for_ours(world, monkeypatch):
    """That CRD has a phase but no attempt, so what is stored stays the other operator's status."""
    before = world.leave(the_job())

    def patch_status(name: str, patch: Raw) -> None:
        known = {key: patch["status"][key] for key in ("phase", "mode") if key in patch["status"]}
        job = world.job(name)
        if job["status"] | known != job["status"]:
            World.patch_status(world, name, {**patch, "status": known})

    with monkeypatch.context() as older:
        older.setattr(world, "patch_status", patch_status)
        world.take_over()
    assert "attempt" not in world.status()
    assert world.uids() == before
    assert world.told == []
    world.advance(30)
    world.keep_up()
    assert world.condition("Adopted")["status"] == "True"
    assert world.uids() == before


@pytest.mark.parametrize("attempt", [1, 2])
def test_job_of_ours_whose_attempt_an_older_crd_has_dropped_goes_on(world, attempt):
    world.submit(the_job().with_spec(backoffLimit=1))
    world.operator.restart(is_warm=False)
    world.begin_ours()
    if attempt == 2:
        world.kubelet.end("train-worker-1", 1)
        world.begin_ours()
    assert (world.phase(), world.status()["attempt"]) == ("Running", attempt)
    before = world.uids()
    told = {key: world.status()[key] for key in ("phase", "mode", "startTime")}
    world.change("PaddleJob", "train", lambda job: job.update(status=told))
    world.take_over()
    assert world.uids() == before
    assert (world.phase(), world.status()["attempt"]) == ("Running", attempt)
    assert not world.status().get("restartCount"), "it is in that attempt from the first pass on"
    assert world.condition("Adopted") == {}
    world.kubelet.end_all("worker")
    world.keep_up()
    assert world.phase() == "Completed"


@pytest.mark.parametrize("phase", ["Completed", "Failed"])
def test_ended_job_is_left_as_it_is(world, phase):
    world.leave(the_job(), phase)
    before = dict(world.objects)
    world.take_over()
    assert world.objects == before
    assert not world.told
    assert not world.counted


def test_pod_that_lost_its_labels_runs_on(world):
    world.leave(the_job())
    for name in ("train-worker-0", "train-worker-1"):
        world.change("Pod", name, lambda pod: pod["metadata"].update(labels={}))
    before = world.uids()
    world.take_over()
    assert world.uids() == before
    assert world.condition("Adopted")["status"] == "True"


def test_pod_of_that_name_that_is_not_the_jobs_is_not_touched(world):
    world.leave(the_job())
    forged = world.change(
        "Pod", "train-worker-1", lambda p: p["metadata"]["ownerReferences"][0].update(uid="other")
    )
    world.take_over()
    assert world.get("Pod", "train-worker-1") == forged


def test_job_without_workers_is_left_alone_and_says_so(world):
    before = world.leave(a_job().with_ps(2))
    world.take_over()
    condition = world.condition("Adopted")
    assert (condition["status"], condition["reason"]) == ("False", "InvalidSpec")
    assert [event.type for event in world.told] == ["Warning"]
    assert world.uids() == before
    assert world.phase() == "Running"


def asked(**status: object) -> tuple[str, ...]:
    return names_to_ask_for(the_job().with_status(**status).build())


def test_only_jobs_of_another_operator_that_run_are_asked_for():
    assert set(asked(phase="Running")) == set(PODS)
    assert asked(phase="Running", attempt=1) == asked(phase="Failed") == asked() == ()
    others = the_job().with_status(phase="Running").with_spec(managedBy="kueue.x-k8s.io/multikueue")
    assert names_to_ask_for(others.build()) == ()
    broken: Raw = the_job().build() | {"status": "x"}
    assert names_to_ask_for(broken) == ()
