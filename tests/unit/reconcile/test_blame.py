"""Which of several failed pods is named, and how long one that lost a peer waits to be judged."""

import copy

import pytest

from api.constants import ANNOTATION_KEEP_LOGS, Reason, Role
from api.objects import Raw
from reconcile.failure.incident import build_failure, find_incident
from reconcile.model.plan import Plan
from reconcile.model.view import View
from reconcile.words.launcher_log import clean
from tests.memory.builders import (
    PodBuilder,
    a_job,
    a_pod,
    at,
    incident_of,
    plan_of,
    stamp,
    status_of,
    view_of,
)
from tests.memory.logs import PEER_LOST, detected, launched, raised

JOB = a_job().with_workers(4).with_status(phase="Running", attempt=1).build()
MANY = 400
"""More than `read_message` remembers."""
UNHEARD_OF = "RuntimeError: zenoh lane 7 went dark\n"
BAD_BATCH = raised("ValueError: bad batch 17")
NO_SPACE = "RuntimeError: [enforce fail] No space left on device\n"
ABORTED = detected("Process abort signal", "SIGABRT")


def worker(index: int, code: int, seconds: float, message: str = "") -> PodBuilder:
    return a_pod(JOB, index=index).ended(code, seconds, message=message)


def seen(*ended: PodBuilder, seconds: float = 6.0, job: Raw = JOB) -> View:
    """What a pass sees then; workers that have not ended run."""
    pods = {pod.build()["metadata"]["name"]: pod for pod in ended}
    for index in range(4):
        pod = a_pod(JOB, index=index).running()
        pods.setdefault(pod.build()["metadata"]["name"], pod)
    return view_of(job, *pods.values(), seconds=seconds)


def named(view: View) -> str:
    pod = incident_of(view).pod
    assert pod is not None
    return pod.name


ALL_FAILED = {
    "cause-first": [worker(0, 1, 5, BAD_BATCH), worker(1, 1, 5, PEER_LOST)],
    "consequence-first": [worker(1, 1, 4, PEER_LOST), worker(0, 1, 5, BAD_BATCH)],
    "killed": [worker(1, 1, 4, PEER_LOST), worker(0, 137, 5)],
    "killed-under-the-launcher": [
        worker(1, 1, 4, launched(PEER_LOST, 1)),
        worker(0, 247, 5, launched("epoch 1\n", -9)),
    ],
    "without-a-word": [worker(1, 1, 5, PEER_LOST), worker(0, 3, 5)],
    "aborted-in-the-same-second": [worker(0, 1, 5, NO_SPACE), worker(1, 134, 5)],
    "aborted-first": [worker(1, 134, 4, "epoch 1\n"), worker(0, 1, 5, NO_SPACE)],
    "aborted-with-paddles-own-line": [worker(1, 134, 4, ABORTED), worker(0, 1, 5, NO_SPACE)],
    "aborted-without-an-exception": [
        worker(1, 134, 4, "terminate called without an active exception"),
        worker(0, 1, 5, NO_SPACE),
    ],
    "aborted-under-the-launcher": [worker(1, 250, 4), worker(0, 1, 5, NO_SPACE)],
    "aborted-with-a-cause": [worker(0, 134, 4, NO_SPACE), worker(1, 1, 5, BAD_BATCH)],
    "limit-of-its-own-before-the-peers": [
        worker(1, 134, 4),
        worker(0, 137, 5, PEER_LOST).with_status(
            reason="Evicted", message='Usage of EmptyDir volume "x" exceeds the limit "1Gi". '
        ),
    ],
    "first-of-two-causes": [worker(0, 1, 4, BAD_BATCH), worker(1, 1, 5, BAD_BATCH)],
    "consequences-alone": [worker(0, 1, 4, PEER_LOST), worker(1, 1, 5, PEER_LOST)],
}


@pytest.mark.parametrize("name", ALL_FAILED)
def test_the_first_that_tells_of_a_cause_is_named(name):
    rest = [worker(index, 1, 6, PEER_LOST) for index in (2, 3)]
    assert named(seen(*ALL_FAILED[name], *rest)) == "train-worker-0"


def test_others_are_counted_and_the_record_is_the_culprits():
    view = seen(
        *(worker(index, 1, 4, PEER_LOST) for index in (1, 2, 3)), worker(0, 1, 5, BAD_BATCH)
    )
    incident = incident_of(view)
    assert incident.message == (
        "train-worker-0 on node-1 exited with code 1, and 3 others failed, too: "
        "ValueError: bad batch 17"
    )
    record = build_failure(view, incident)
    assert (record.pod, record.message.splitlines()[0]) == (
        "train-worker-0",
        "ValueError: bad batch 17",
    )


@pytest.mark.parametrize(
    ("told", "log", "reason"),
    [
        (0, BAD_BATCH, Reason.POD_EVICTED),
        (3, UNHEARD_OF, Reason.POD_EVICTED),
        (4, PEER_LOST, Reason.POD_EVICTED),
        (4, BAD_BATCH, Reason.POD_FAILED),
    ],
)
@pytest.mark.parametrize("is_over", [False, True])
def test_the_first_whose_end_began_decides_what_is_charged(told, log, reason, is_over):
    """The evicted pod needs its grace, so its peers often end before it does."""
    evicted = worker(1, 143, 5) if is_over else a_pod(JOB, index=1).running()
    evicted.with_condition("DisruptionTarget", seconds=told)
    incident = incident_of(seen(evicted, worker(0, 1, 3, log), seconds=60))
    assert (incident.reason, incident.is_charged) == (reason, reason is Reason.POD_FAILED)
    assert ("; after that, train-worker-0" in incident.message) is not incident.is_charged


def test_a_container_that_its_node_lost_decides_over_those_that_lost_it():
    lost = a_pod(JOB).ended(137, 5, reason="ContainerStatusUnknown")
    incident = incident_of(seen(lost, worker(1, 1, 4, PEER_LOST), seconds=60))
    assert (incident.reason, incident.is_charged) == (Reason.NODE_LOST, False)


def test_of_those_that_fail_after_a_pod_began_to_go_the_culprit_is_told():
    evicted = a_pod(JOB).running().with_condition("DisruptionTarget", seconds=3)
    after = (worker(1, 1, 4, PEER_LOST), worker(2, 1, 5, BAD_BATCH))
    message = incident_of(seen(evicted, *after)).message
    told = "train-worker-2 on node-1 exited with code 1, and 1 other failed, too: ValueError: bad"
    assert f"; after that, {told}" in message


@pytest.mark.parametrize("index", [0, 1])
def test_a_program_that_failed_first_is_charged_and_told_though_its_pod_is_deleted(index):
    culprit = worker(index, 1, 3, BAD_BATCH).deleting(4)
    drained = a_pod(JOB, index=1 - index).running().deleting(5)
    for others in ((), (worker(2, 1, 4, PEER_LOST),)):
        view = seen(culprit, drained, *others)
        assert (named(view), incident_of(view).is_charged) == (f"train-worker-{index}", True)


def test_one_that_aborted_without_a_word_waits_for_the_culprit():
    aborted = worker(1, 134, 4)
    assert find_incident(seen(aborted, seconds=5)) is None
    assert named(seen(aborted, worker(0, 1, 5, NO_SPACE), seconds=6)) == "train-worker-0"
    assert named(seen(aborted, seconds=60)) == "train-worker-1"


def going(job: Raw, how: str, since: float) -> PodBuilder:
    """Worker 0, whose trainer saves its checkpoint, or of which nothing is heard any more."""
    pod = a_pod(job).running()
    if how in ("evicted", "drained"):
        pod.with_condition("DisruptionTarget", seconds=since)
    if how in ("deleted", "drained"):
        pod.deleting(since)
    if how == "silent":
        pod.with_condition("Ready", "False", since).with_condition("ContainersReady")
    return pod


@pytest.mark.parametrize("is_elastic", [False, True])
@pytest.mark.parametrize("how", ["evicted", "drained", "deleted", "silent"])
@pytest.mark.parametrize(
    ("since", "log", "phase"),
    [
        (0, PEER_LOST, "Restarting"),
        (4, UNHEARD_OF, "Restarting"),
        (4, BAD_BATCH, "Restarting"),
        (5, PEER_LOST, "Restarting"),
        (5, UNHEARD_OF, "Failed"),
    ],
)
def test_what_fails_after_a_pod_began_to_go_is_not_charged(is_elastic, how, since, log, phase):
    """Whatever its log says; a lost peer also where the clock of a node says otherwise."""
    job = a_job().with_elastic_workers(2, 2, 4) if is_elastic else a_job().with_workers(2)
    job.with_status(phase="Running", attempt=1)
    peer = a_pod(job.build(), index=1).ended(1, 4, message=log)
    plan = plan_of(view_of(job.build(), going(job.build(), how, since), peer, seconds=60))
    assert (status_of(plan)["phase"], status_of(plan).get("failureCount")) == (phase, None)


def test_a_worker_that_was_replaced_decides_nothing_after_its_failure_was_answered():
    job = a_job().with_elastic_workers(3, 2, 3).with_status(phase="Running", attempt=1).build()
    replaced = a_pod(job, index=2).ended(1, 2, message=BAD_BATCH).deleting(3)
    peer = a_pod(job, index=1).ended(1, 9, message=UNHEARD_OF)
    plan = plan_of(view_of(job, replaced, going(job, "evicted", 7), peer, seconds=60))
    assert (status_of(plan)["phase"], status_of(plan).get("failureCount")) == ("Restarting", None)


GOING = {
    "evicted": (Reason.POD_EVICTED, "is being evicted"),
    "drained": (Reason.POD_EVICTED, "is being deleted"),
    "deleted": (Reason.POD_VANISHED, "is being deleted"),
    "silent": (Reason.NODE_LOST, "does not answer"),
}


@pytest.mark.parametrize("how", GOING)
def test_both_are_told_the_pod_that_goes_and_what_failed_after(how):
    reason, says = GOING[how]
    incident = incident_of(seen(going(JOB, how, 2), worker(1, 1, 4, BAD_BATCH), seconds=60))
    failed = "train-worker-1 on node-1 exited with code 1: ValueError: bad batch 17"
    message = f"train-worker-0 on node-1 {says}; after that, {failed}"
    assert (incident.reason, incident.message) == (reason, message)
    record = build_failure(seen(), incident)
    assert (record.pod, record.time) == ("train-worker-0", stamp(2))


FAULTY = raised("RuntimeError: CUDA error: uncorrectable ECC error encountered")


@pytest.mark.parametrize(
    ("log", "told", "avoided"),
    [
        (PEER_LOST, [], ["node-1"]),
        (BAD_BATCH, ["train-worker-1"], ["node-2", "node-1"]),
        (FAULTY, ["train-worker-1"], ["node-2", "node-1"]),
    ],
)
def test_nothing_is_lost_of_what_failed_after_a_pod_began_to_go(log, told, avoided):
    """Its log is kept, and a job that fails in this way again and again has its record."""
    job = copy.deepcopy(JOB)
    job["metadata"]["annotations"] = {ANNOTATION_KEEP_LOGS: "true"}
    after = a_pod(JOB, index=1).bound("node-2").ended(1, 4, message=log)
    plan = plan_of(seen(going(JOB, "silent", 2), after, job=job, seconds=60))
    status, kept = status_of(plan), plan.keep_log
    assert [each["pod"] for each in status["failures"]] == [*told, "train-worker-0"]
    assert ([kept.pod] if kept else [], status["avoidNodes"]) == (told, avoided)


def test_a_pod_that_somebody_deletes_from_a_silent_node_is_lost_with_it():
    """As the job advises where the pod tolerates every taint: the next must go elsewhere."""
    status = status_of(plan_of(seen(going(JOB, "silent", 2).deleting(60), seconds=61)))
    (restarting,) = [each for each in status["conditions"] if each["type"] == "Restarting"]
    assert restarting["reason"] == Reason.NODE_LOST
    assert restarting["message"] == "train-worker-0 on node-1 does not answer"
    assert status["avoidNodes"] == ["node-1"]


def test_the_first_of_many_that_go_is_told():
    late = a_pod(JOB, index=1).running().deleting(3)
    incident = incident_of(seen(late, going(JOB, "silent", 2), worker(2, 1, 4, BAD_BATCH)))
    assert incident.reason is Reason.NODE_LOST


@pytest.mark.parametrize(
    "done",
    [
        pytest.param(a_pod(JOB).ended(0, 2).deleting(3), id="deleted"),
        pytest.param(a_pod(JOB).ended(0, 2).deleting(2), id="deleted-as-status-knew"),
    ],
)
def test_a_pod_that_has_trained_to_its_end_goes_without_consequences(done):
    job = copy.deepcopy(JOB)
    job["status"]["worker"] = {"replicas": 4, "completedIndexes": "0"}
    incident = incident_of(seen(done, worker(1, 1, 4, BAD_BATCH), job=job))
    assert (incident.reason, incident.is_charged) == (Reason.POD_FAILED, True)


UNTIMED = {
    "not-ready": {
        "conditions": [
            {"type": "Ready", "status": "False"},
            {"type": "ContainersReady", "status": "True"},
        ]
    },
    "unknown": {"phase": "Unknown"},
    "in-words": {"reason": "ProviderFailed"},
}


@pytest.mark.parametrize("status", UNTIMED.values(), ids=UNTIMED)
def test_a_pod_that_lives_and_goes_since_nobody_knows_when_decides_nothing(status):
    odd = a_pod(JOB).bound().with_status(**status)
    incident = incident_of(seen(odd, worker(1, 1, 4, BAD_BATCH)))
    assert (incident.reason, incident.is_charged) == (Reason.POD_FAILED, True)


def noted(*ended: PodBuilder) -> Raw:
    job = copy.deepcopy(JOB)
    job["status"] |= status_of(plan_of(seen(*ended)))
    return job


def test_a_lost_peer_waits_for_the_culprit_and_is_noted_meanwhile():
    plan = plan_of(seen(worker(1, 1, 4, PEER_LOST), seconds=6))
    assert set(status_of(plan)) == {"failures", "replicas"}
    assert plan == Plan(status=plan.status, requeue_after=3.0)
    job = noted(worker(1, 1, 4, PEER_LOST))
    again = plan_of(seen(worker(1, 1, 4, PEER_LOST), worker(2, 1, 4, PEER_LOST), job=job))
    assert again == Plan(requeue_after=3.0)


@pytest.mark.parametrize(
    "others",
    [
        pytest.param((), id="alone"),
        pytest.param((worker(2, 1, 5, PEER_LOST),), id="others-lost-a-peer-too"),
    ],
)
def test_a_noted_failure_is_charged_and_told_though_its_pod_is_gone(others):
    job = noted(worker(1, 1, 4, PEER_LOST))
    rest = [a_pod(JOB, index=index).running() for index in (0, 3, 2)[: 3 - len(others)]]
    status = status_of(plan_of(view_of(job, *others, *rest, seconds=7)))
    assert status["phase"] == "Failed", "it is charged"
    (failed,) = [each for each in status["conditions"] if each["type"] == "Failed"]
    assert failed["reason"] == "PodFailed"
    assert failed["message"].startswith("train-worker-1 on node-1 exited with code 1: RuntimeError")
    assert "failures" not in status, "its record stays"
    assert status["avoidNodes"] == ["node-1"]


def test_a_verdict_replaces_the_noted_failure():
    job = noted(worker(1, 1, 4, PEER_LOST))
    culprit = worker(0, 1, 5, BAD_BATCH)
    rest = [a_pod(JOB, index=index).running() for index in (2, 3)]
    for first in ((worker(1, 1, 4, PEER_LOST),), ()):
        status = status_of(plan_of(view_of(job, *first, culprit, *rest, seconds=7)))
        (record,) = status["failures"]
        assert (record["pod"], record["exitCode"]) == ("train-worker-0", 1)


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize(
    "going",
    [
        pytest.param(worker(2, 143, 6).with_condition("DisruptionTarget", seconds=3), id="over"),
        pytest.param(worker(2, 143, 6).deleting(3), id="deleted"),
        pytest.param(a_pod(JOB, index=2).running().with_condition("DisruptionTarget"), id="going"),
    ],
)
def test_what_follows_an_eviction_is_told_and_not_charged_though_it_was_noted(going, is_there):
    failed = worker(1, 1, 4, PEER_LOST)
    pods = (going, a_pod(JOB).running(), *([failed] if is_there else ()))
    incident = incident_of(view_of(noted(failed), *pods, seconds=7))
    assert (incident.pod and incident.pod.name, incident.is_charged) == ("train-worker-2", False)
    assert "; after that, train-worker-1 on node-1 exited with code 1: Runtime" in incident.message


def test_a_failure_of_another_attempt_is_none_that_was_noted():
    job = noted(worker(1, 1, 4, PEER_LOST))
    job["status"]["attempt"] = 2
    pods = [a_pod(JOB, index=index, attempt=2).running() for index in range(4)]
    assert find_incident(view_of(job, *pods, seconds=60)) is None


def test_a_message_is_read_once_however_many_there_are(monkeypatch):
    """However many ask for its last words in a pass."""
    read: list[str] = []

    def count(message: str) -> list[str]:
        read.append(message)
        return clean(message)

    monkeypatch.setattr("reconcile.words.cause.clean", count)
    job = a_job().with_workers(MANY + 1).with_status(phase="Running", attempt=1).build()
    pods = [
        a_pod(job, index=index).ended(1, 4, message=f"step {index}\n{PEER_LOST}")
        for index in range(MANY)
    ]
    view = view_of(job, *pods, a_pod(job, index=MANY).running(), seconds=6)
    assert plan_of(view).requeue_after == 3.0
    assert len(read) <= MANY + 1


@pytest.mark.parametrize("log", [PEER_LOST, BAD_BATCH])
def test_peers_of_a_pod_that_went_unseen_are_not_charged_unless_they_tell_of_a_cause(log):
    """As in a drain of the operator's own node."""
    failed = worker(1, 1, 4, log)
    incident = incident_of(view_of(JOB, failed, a_pod(JOB, index=2).running(), seconds=5))
    assert incident.is_charged == (log is BAD_BATCH)
    if not incident.is_charged:
        assert incident.verify_gone == ("train-worker-0", "train-worker-3")
        assert "; after that, train-worker-1 on node-1 exited with code 1" in incident.message


NOT_WAITED_FOR = {
    "waited": seen(worker(0, 1, 4, PEER_LOST), seconds=9),
    "clock-of-the-node": seen(worker(0, 1, 90, PEER_LOST), seconds=9),
    "cause": seen(worker(0, 1, 4, BAD_BATCH)),
}


@pytest.mark.parametrize("view", NOT_WAITED_FOR.values(), ids=NOT_WAITED_FOR)
def test_none_waits_for_what_does_not_come(view):
    assert named(view) == "train-worker-0"


def test_a_pod_that_serves_may_be_the_culprit():
    job = a_job().with_ps(1).with_workers(1).with_status(phase="Running", attempt=1).build()
    lost = a_pod(job).ended(1, 4, message=PEER_LOST)
    waits = view_of(job, a_pod(job, Role.PS).running(), lost, seconds=5)
    assert find_incident(waits) is None
    assert named(view_of(job, a_pod(job, Role.PS).ended(139, 5), lost, seconds=5)) == "train-ps-0"


def test_an_elastic_job_does_not_wait():
    job = a_job().with_elastic_workers(2, 1, 2).build()
    lost = a_pod(job).ended(1, 4, message=PEER_LOST)
    assert plan_of(view_of(job, lost, a_pod(job, index=1).running(), seconds=5)).status


def test_a_deadline_does_not_wait():
    view = seen(worker(1, 1, 4, PEER_LOST), seconds=6)
    view.observed.job["spec"]["activeDeadlineSeconds"] = 2
    view.observed.job["status"]["startTime"] = at(0).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert plan_of(view).status


def test_of_an_elastic_job_the_same_one_is_named_where_too_few_live():
    job = a_job().with_elastic_workers(2, 2, 2).build()
    lost = a_pod(job, index=1).ended(1, 4, message=PEER_LOST)
    assert named(view_of(job, lost, a_pod(job).ended(1, 5, message=BAD_BATCH), seconds=6)) == (
        "train-worker-0"
    )
