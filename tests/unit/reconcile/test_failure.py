"""What ends an attempt, whether it is charged, and who caused it."""

import pytest

from api.constants import Reason, Role
from api.objects import Raw
from reconcile.failure.incident import build_failure, find_incident
from reconcile.model.view import View
from tests.memory.builders import PodBuilder, a_config_map, a_job, a_pod, incident_of, view_of
from tests.memory.logs import PEER_LOST

JOB = a_job().with_ps(1).with_workers(2).build()
ENDPOINTS, MOVED = "PADDLE_TRAINER_ENDPOINTS", Reason.ADDRESS_CHANGED
FAIL_ON_42 = {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]}
IGNORE_1 = {"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1]}}]}
COUNT_DISRUPTED = {
    "rules": [{"action": "Count", "onPodConditions": [{"type": "DisruptionTarget"}]}]
}
FAIL_ON_DISRUPTED = {
    "rules": [{"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]}]
}
EVICTED = a_pod(JOB).ended(143).with_condition("DisruptionTarget")
GOING = a_pod(JOB).running().deleting().with_condition("DisruptionTarget")


def disrupted(reason: str, status: str = "True") -> PodBuilder:
    """A pod that the cluster has ended for this reason."""
    return a_pod(JOB).ended(143).with_condition("DisruptionTarget", status, reason=reason)


def failed(reason: str) -> PodBuilder:
    """A pod that its node has ended, or not taken."""
    return a_pod(JOB).bound().with_status(phase="Failed", reason=reason)


def started(*pods: PodBuilder, policy: Raw | None = None) -> View:
    """A view of a job whose other pods run."""
    job = a_job().with_ps(1).with_workers(2).with_spec(podFailurePolicy=policy).build()
    built = {pod.build()["metadata"]["name"]: pod for pod in pods}
    for role, index in ((Role.PS, 0), (Role.WORKER, 0), (Role.WORKER, 1)):
        pod = a_pod(job, role, index).running()
        built.setdefault(pod.build()["metadata"]["name"], pod)
    return view_of(job, *built.values())


ENDS = {
    "exit-1": (a_pod(JOB).ended(1), None, Reason.POD_FAILED, True, False),
    "killed": (a_pod(JOB).ended(137), None, Reason.POD_FAILED, True, False),
    "15-undeleted": (a_pod(JOB).ended(15), None, Reason.POD_FAILED, True, False),
    "101": (a_pod(JOB).ended(101), None, Reason.TRAINER_ASKED_RESTART, False, False),
    "102": (a_pod(JOB).ended(102), None, Reason.TRAINER_ASKED_RESTART, False, False),
    "evicted": (EVICTED, None, Reason.POD_EVICTED, False, False),
    "node-lost": (disrupted("DeletionByTaintManager"), None, Reason.NODE_LOST, False, False),
    "node-gone": (disrupted("DeletionByPodGC"), None, Reason.NODE_LOST, False, False),
    "preempted": (disrupted("PreemptionByScheduler"), None, Reason.POD_EVICTED, False, False),
    "not-disrupted": (disrupted("", "False"), None, Reason.POD_FAILED, True, False),
    "evicted-counts": (EVICTED, COUNT_DISRUPTED, Reason.POD_FAILED, True, False),
    "fail-job": (a_pod(JOB).ended(42), FAIL_ON_42, Reason.POD_FAILURE_POLICY, False, True),
    "ignore": (a_pod(JOB).ended(1), IGNORE_1, Reason.FAILURE_POLICY_IGNORE, False, False),
    "not-admitted": (failed("OutOfcpu"), None, Reason.POD_EVICTED, False, False),
    "evicted-by-its-node": (failed("Evicted"), None, Reason.POD_EVICTED, False, False),
    "its-own-deadline": (failed("DeadlineExceeded"), None, Reason.POD_FAILED, True, False),
    "while-it-goes": (GOING, None, Reason.POD_EVICTED, False, False),
    "while-it-goes-counts": (GOING, COUNT_DISRUPTED, Reason.POD_FAILED, True, False),
    "while-it-goes-fails": (GOING, FAIL_ON_DISRUPTED, Reason.POD_FAILURE_POLICY, False, True),
}


@pytest.mark.parametrize(
    ("pod", "policy", "reason", "is_charged", "is_fatal"), ENDS.values(), ids=ENDS
)
def test_end_of_a_pod_is_judged(pod, policy, reason, is_charged, is_fatal):
    incident = incident_of(started(pod, policy=policy))
    found = (incident.reason, incident.is_charged, incident.is_fatal)
    assert found == (reason, is_charged, is_fatal)


@pytest.mark.parametrize("code", [0, 1, 15, 143, 137])
def test_pod_being_deleted_is_never_charged(code):
    incident = incident_of(started(a_pod(JOB).ended(code).deleting()))
    assert (incident.reason, incident.is_charged) == (Reason.POD_VANISHED, False)


def test_first_to_end_is_the_cause():
    first = a_pod(JOB, index=1).ended(139, seconds=5)
    incident = incident_of(started(a_pod(JOB).ended(1, seconds=6), first))
    assert incident.pod is not None
    assert incident.pod.name == "train-worker-1"


def test_disruption_is_the_cause_among_those_that_end_at_once():
    evicted = a_pod(JOB, index=1).ended(143, seconds=5).with_condition("DisruptionTarget")
    incident = incident_of(started(a_pod(JOB).ended(1, seconds=5), evicted))
    assert not incident.is_charged


@pytest.mark.parametrize("code", [1, 101])
def test_what_is_not_charged_decides_over_a_peer_that_lost_it_and_ended_before(code):
    culprit = a_pod(JOB, index=1).ended(code, seconds=6)
    lost = a_pod(JOB).ended(3, seconds=5, message=PEER_LOST)
    incident = incident_of(started(culprit, lost, policy=IGNORE_1))
    assert (incident.pod and incident.pod.name, incident.is_charged) == ("train-worker-1", False)


def test_fatal_end_outweighs_an_earlier_one():
    fatal = a_pod(JOB, index=1).ended(42, seconds=9)
    incident = incident_of(started(a_pod(JOB).ended(1, seconds=5), fatal, policy=FAIL_ON_42))
    assert incident.is_fatal


def test_pods_taken_for_gone_are_verified():
    job = a_job().with_workers(2).with_status(phase="Running")
    incident = incident_of(view_of(job, a_pod(JOB).running()))
    assert (incident.reason, incident.is_charged) == (Reason.POD_VANISHED, False)
    assert incident.verify_gone == ("train-worker-1",)


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([], id="none-yet"),
        pytest.param([a_pod(JOB).bound().with_address("10.0.1.1")], id="some-placed"),
        pytest.param([a_pod(JOB).bound().deleting()], id="one-deleted"),
        pytest.param([a_pod(JOB).running()], id="one-runs-before-the-last-is-created"),
    ],
)
def test_nothing_is_lost_before_addresses_are_told(pods):
    assert find_incident(view_of(a_job().with_workers(2), *pods)) is None


def test_missing_pod_is_a_loss_once_the_config_map_exists():
    job = a_job().with_workers(2).build()
    waiting = a_pod(job).bound().with_address("10.0.1.1")
    incident = incident_of(view_of(job, waiting, config_maps=(a_config_map(),)))
    assert incident.reason is Reason.POD_VANISHED


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        pytest.param({ENDPOINTS: "10.0.1.1:36000,10.0.1.2:36000"}, None, id="same"),
        pytest.param({ENDPOINTS: "10.0.1.1:36000,10.9.9.9:36000"}, MOVED, id="other"),
        pytest.param({ENDPOINTS: "10.0.1.2:36000,10.0.1.1:36000"}, MOVED, id="swapped"),
        pytest.param({ENDPOINTS: "10.0.1.1:36000"}, MOVED, id="too-few"),
        pytest.param({"PADDLE_OF_OLD": "1"}, None, id="of-another-version"),
        pytest.param({}, None, id="not-kept"),
    ],
)
def test_address_that_peers_were_not_told_ends_the_attempt(told, reason):
    job = a_job().with_workers(2).build()
    pods = [a_pod(job, index=index).running() for index in range(2)]
    incident = find_incident(view_of(job, *pods, config_maps=(a_config_map(**told),)))
    assert (incident and incident.reason) == reason


def test_former_job_s_config_map_on_a_node_ends_the_attempt():
    job = a_job().with_workers(1).build()
    text = "couldn't find key PADDLE_RENDEZVOUS_0123abcd_uid in ConfigMap default/train"
    pod = a_pod(job).bound().with_address("10.0.1.1").waiting("CreateContainerConfigError", text)
    assert find_incident(view_of(job, pod)) is None
    incident = incident_of(view_of(job, pod, config_maps=(a_config_map(),)))
    assert (incident.reason, incident.is_charged) == (Reason.STALE_CONFIG_MAP, False)


@pytest.mark.parametrize(
    ("told", "policy", "reason", "is_charged"),
    [
        pytest.param("10.0.1.1:36000", None, Reason.POD_FAILED, True, id="same"),
        pytest.param("10.9.9.9:36000", None, Reason.ADDRESS_CHANGED, False, id="other"),
        pytest.param("10.9.9.9:36000", "Count", Reason.POD_FAILED, True, id="counted-by-policy"),
    ],
)
def test_failure_of_a_pod_that_its_peers_look_for_elsewhere_is_not_charged(
    told, policy, reason, is_charged
):
    rule = {"action": policy, "onExitCodes": {"operator": "In", "values": [1]}}
    spec = {"podFailurePolicy": {"rules": [rule]}} if policy else {}
    job = a_job().with_workers(1).with_spec(**spec).build()
    pod = a_pod(job).running().ended(1)
    incident = incident_of(
        view_of(job, pod, config_maps=(a_config_map(PADDLE_TRAINER_ENDPOINTS=told),))
    )
    assert (incident.reason, incident.is_charged) == (reason, is_charged)


def test_failure_record_outlives_the_pod():
    view = started(
        a_pod(JOB, index=1).ended(137, seconds=9, reason="OOMKilled", message="lines\n" * 900)
    )
    incident = incident_of(view)
    record = build_failure(view, incident)
    assert (record.pod, record.role, record.index) == ("train-worker-1", "worker", 1)
    assert (record.exit_code, record.signal, record.reason) == (137, 9, "OOMKilled")
    assert (record.node, record.time) == ("node-1", "2026-01-02T03:04:14Z")
    assert 1000 < len(record.message) <= 1024
