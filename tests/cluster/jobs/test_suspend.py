"""spec.suspend holds a job without pods; spec.managedBy gives it to somebody else."""

import json

import pytest

from tests.live.history import History
from tests.live.lab import SERVER, Lab, Raw, paddle_job, shell

WAITS = shell('trap "exit 15" TERM; while true; do sleep 0.1; done')
GPUS = shell("exec sleep 3600", resources={"limits": {"nvidia.com/gpu": "4"}})
SPEC = {"ps": (1, SERVER), "worker": (2, WAITS)}


def patch(lab: Lab, name: str, spec: Raw) -> None:
    """Change a job's spec; raises LocalClusterError where that is refused."""
    lab.kubectl("patch", "pdj", name, "--type=merge", "-p", json.dumps({"spec": spec}))


def set_suspend(lab: Lab, value: bool, *names: str) -> None:
    for name in names:
        patch(lab, name, {"suspend": value})


CHANGE = {
    "replicas": 3,
    "template": {
        "metadata": {"labels": {"queue": "night"}},
        "spec": {
            "nodeSelector": {"accelerator": "nvidia-tesla-p100"},
            "tolerations": [{"key": "night", "operator": "Exists"}],
        },
    },
}
"""Of the workers of a held job; tests/cluster/admission/test_rules.py has all that may change."""


@pytest.fixture(scope="module")
def jobs(module_lab: Lab, job_history: History, pod_history: History) -> Lab:
    """Jobs that run, that are held and that belong to others; then those that run are held."""
    module_lab.submit(
        paddle_job("paused", SPEC),
        paddle_job("changed", SPEC),
        paddle_job("greedy", {"worker": (3, GPUS)}),
        paddle_job("born-held", SPEC, suspend=True),
        paddle_job("others", SPEC, managedBy="kueue.x-k8s.io/multikueue"),
    )
    module_lab.wait_all(["paused", "changed", "greedy"], "Running")
    module_lab.submit(paddle_job("next", {"worker": (3, GPUS)}))
    module_lab.wait(
        lambda: module_lab.condition("next", "Pending").get("reason") == "Unschedulable", "no slot"
    )
    set_suspend(module_lab, True, "paused", "changed", "greedy")
    module_lab.wait_all(["paused", "changed", "greedy", "born-held"], "Suspended")
    for name in ("paused", "changed", "greedy"):
        module_lab.wait(lambda name=name: not module_lab.pods(name), f"pods of {name} go")
    return module_lab


def test_suspended_job_says_so(jobs: Lab) -> None:
    status = jobs.status("paused")
    assert status["phase"] == "Suspended"
    assert jobs.condition("paused", "Suspended")["reason"] == "Suspended"
    assert "startTime" not in status
    assert not jobs.condition("paused", "Running")
    assert "Suspended" in jobs.kubectl("get", "pdj", "paused")
    jobs.wait_printed("paused", "Suspended", "PS", "0/1", "0/2")


def test_slots_are_free_for_others(jobs: Lab) -> None:
    jobs.wait_phase("next", "Running")


def test_change_while_held_reaches_the_pods(jobs: Lab) -> None:
    patch(jobs, "changed", {"worker": CHANGE})
    set_suspend(jobs, False, "changed")
    jobs.wait_phase("changed", "Running")
    pods = jobs.pods("changed", "worker")
    assert len(pods) == 3
    for pod in pods:
        assert pod["metadata"]["labels"]["queue"] == "night"
        assert pod["spec"]["nodeSelector"] == {"accelerator": "nvidia-tesla-p100"}
        assert pod["spec"]["tolerations"][0]["key"] == "night"


def test_resumed_job_is_a_new_attempt_not_charged(jobs: Lab, job_history: History) -> None:
    set_suspend(jobs, False, "paused")
    jobs.wait(lambda: not jobs.condition("paused", "Suspended"), "resumed")
    status = jobs.wait_phase("paused", "Running")
    assert (status["attempt"], status["restartCount"]) == (2, 1)
    assert "failureCount" not in status
    assert "failures" not in status, "the trainers exited 15, for they were told to stop"
    assert status["startTime"] > job_history.versions("paused")[0]["metadata"]["creationTimestamp"]
    assert "Restarting" not in job_history.phases("paused"), "there is no back-off"
    for reason in ("Suspended", "Resumed"):
        jobs.wait(lambda reason=reason: jobs.events("paused", reason), f"an Event {reason}")


def test_job_born_held_makes_nothing_and_begins_with_its_first_attempt(jobs, pod_history):
    assert not list(pod_history.events("born-held-"))
    jobs.submit(paddle_job("held-too", SPEC, suspend=True))
    jobs.wait_phase("held-too", "Suspended")
    set_suspend(jobs, False, "held-too")
    jobs.wait(lambda: not jobs.condition("held-too", "Suspended"), "resumed")
    status = jobs.wait_phase("held-too", "Running")
    assert status["attempt"] == 1
    assert "restartCount" not in status


def test_job_of_another_controller_is_let_be(jobs, job_history, pod_history):
    assert jobs.status("others") == {"observedGeneration": 0}  # the CRD's default
    assert len(job_history.versions("others")) == 1
    assert not list(pod_history.events("others-"))
    assert not jobs.events("others")
