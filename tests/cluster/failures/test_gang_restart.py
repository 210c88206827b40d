"""Gang restarts: one lost pod ends the attempt of all, and one incident counts once."""

import pytest

from api.constants import LABEL_ATTEMPT, Reason
from tests.live.faulty import (
    SAVES,
    attempts,
    evict,
    only_first,
    squeeze_out,
)
from tests.live.history import History
from tests.live.lab import CORE, SERVER, Lab, paddle_job, shell

BACK_OFF = 10
WAITS = only_first("exec sleep 3600")
FAILS = only_first("exit 1")
RECOVERS = shell(
    "test -e /state/x && exit 0; touch /state/x; exit 1",
    volumeMounts=[{"name": "state", "mountPath": "/state"}],
)
RECOVERS["spec"] |= {
    "restartPolicy": "OnFailure",
    "volumes": [{"name": "state", "emptyDir": {}}],
}
ROLES = {"ps": (1, SERVER), "worker": (2, WAITS)}
JOBS = {
    "failed": paddle_job("failed", {"ps": (1, SERVER), "worker": (6, FAILS)}, backoffLimit=2),
    "recovers": paddle_job("recovers", {"worker": (2, RECOVERS)}),
    "evicted": paddle_job("evicted", {"ps": (1, SERVER), "worker": (2, SAVES)}),
    "squeezed": paddle_job("squeezed", ROLES),
    "vanished": paddle_job("vanished", ROLES),
}
LOSSES = {"evicted": "PodEvicted", "squeezed": "PodEvicted", "vanished": "PodVanished"}
RESTARTED = ("failed", "evicted", "squeezed", "vanished")


@pytest.fixture(scope="module")
def jobs(module_lab: Lab, job_history: History, pod_history: History) -> Lab:
    for job in JOBS.values():
        module_lab.submit(job | {"spec": job["spec"] | {"cleanPodPolicy": "Never"}})
    module_lab.wait_all(LOSSES, "Running")
    evict(module_lab, "evicted-worker-1")
    squeeze_out(module_lab, "squeezed-worker-1")
    module_lab.kubectl("delete", "pod", "vanished-worker-1", "--grace-period=0", "--force")
    return module_lab


@pytest.mark.parametrize("name", RESTARTED)
def test_lost_pod_ends_in_a_new_attempt_that_completes(jobs: Lab, name: str) -> None:
    status = jobs.wait_completed(name)
    assert (status["attempt"], status["restartCount"]) == (2, 1)


@pytest.mark.parametrize("name", RESTARTED)
def test_every_pod_of_the_gang_is_made_again(jobs: Lab, pod_history: History, name: str) -> None:
    jobs.wait_completed(name)
    made = {
        attempt: sorted(pod["metadata"]["name"] for pod in pods)
        for attempt, pods in attempts(pod_history, name).items()
    }
    assert made["1"] == made["2"] == jobs.pod_names(name)


@pytest.mark.parametrize("name", RESTARTED)
def test_all_pods_are_gone_before_one_is_made_again(jobs, pod_history, name):
    jobs.wait_completed(name)
    story = [
        (kind, pod["metadata"]["labels"][LABEL_ATTEMPT])
        for kind, pod in pod_history.events(f"{name}-")
        if kind != "MODIFIED"
    ]
    pods = len(jobs.pods(name))
    assert story == [
        *[("ADDED", "1")] * pods,
        *[("DELETED", "1")] * pods,
        *[("ADDED", "2")] * pods,
    ]


@pytest.mark.parametrize("name", RESTARTED)
def test_phase_restarting_is_seen(jobs: Lab, job_history: History, name: str) -> None:
    jobs.wait_completed(name)
    phases = job_history.phases(name)
    assert phases.count("Restarting") == 1
    assert "Completed" not in phases[: phases.index("Restarting")]


@pytest.mark.parametrize("name", RESTARTED)
def test_first_restart_waits_for_no_back_off(jobs: Lab, job_history: History, name: str) -> None:
    jobs.wait_completed(name)
    told = [
        condition["reason"]
        for version in job_history.versions(name)
        for condition in version.get("status", {}).get("conditions", ())
        if condition["status"] == "True"
    ]
    assert told
    assert Reason.BACK_OFF not in told


def test_many_failed_pods_are_one_incident(jobs: Lab) -> None:
    status = jobs.wait_completed("failed")
    assert (status["restartCount"], status["failureCount"]) == (1, 1)
    assert len(status["failures"]) == 1


@pytest.mark.parametrize("name", LOSSES)
def test_loss_is_told_and_not_charged(jobs: Lab, job_history: History, name: str) -> None:
    status = jobs.wait_completed(name)
    assert "failureCount" not in status
    assert [record["reason"] for record in status["failures"]] == [LOSSES[name]]
    assert status["failures"][0]["attempt"] == 1


@pytest.mark.parametrize(("name", "reason"), [*LOSSES.items(), ("failed", "PodFailed")])
def test_incident_is_one_event(jobs: Lab, name: str, reason: str) -> None:
    jobs.wait_completed(name)
    jobs.wait(lambda: jobs.events(name, "WorkersSucceeded"), "the last Event")
    told = [
        event["count"]
        for event in jobs.items(CORE, "events")
        if (event["involvedObject"]["name"], event["reason"]) == (name, reason)
    ]
    assert told == [1]


def test_container_restarted_in_place_is_no_new_attempt(jobs: Lab) -> None:
    status = jobs.wait_completed("recovers")
    assert status["attempt"] == 1
    assert "restartCount" not in status
    restarted = [pod["status"]["containerStatuses"][0] for pod in jobs.pods("recovers")]
    assert [container["restartCount"] for container in restarted] == [1, 1]
