"""spec.suspend holds a job without pods."""

import pytest

from tests.live.history import History
from tests.live.lab import SERVER, Lab, paddle_job, shell

WAITS = shell('trap "exit 15" TERM; while true; do sleep 0.1; done')
GPUS = shell("exec sleep 3600", resources={"limits": {"nvidia.com/gpu": "4"}})
SPEC = {"ps": (1, SERVER), "worker": (2, WAITS)}
RUN = ("paused", "changed", "greedy")


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
def jobs(module_lab: Lab, job_history: History) -> Lab:
    """Jobs that run, and are held then."""
    module_lab.submit(
        paddle_job("paused", SPEC),
        paddle_job("changed", SPEC),
        paddle_job("greedy", {"worker": (3, GPUS)}),
    )
    module_lab.wait_all(RUN, "Running")
    module_lab.submit(paddle_job("next", {"worker": (3, GPUS)}))
    module_lab.wait(
        lambda: module_lab.condition("next", "Pending").get("reason") == "Unschedulable", "no slot"
    )
    for name in RUN:
        module_lab.edit(name, suspend=True)
    module_lab.wait_all(RUN, "Suspended")
    for name in RUN:
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
    jobs.edit("changed", worker=CHANGE)
    jobs.edit("changed", suspend=False)
    jobs.wait_phase("changed", "Running")
    pods = jobs.pods("changed", "worker")
    assert len(pods) == 3
    for pod in pods:
        assert pod["metadata"]["labels"]["queue"] == "night"
        assert pod["spec"]["nodeSelector"] == {"accelerator": "nvidia-tesla-p100"}
        assert pod["spec"]["tolerations"][0]["key"] == "night"


def test_resumed_job_is_a_new_attempt_not_charged(jobs: Lab, job_history: History) -> None:
    jobs.edit("paused", suspend=False)
    jobs.wait(lambda: not jobs.condition("paused", "Suspended"), "resumed")
    status = jobs.wait_phase("paused", "Running")
    assert (status["attempt"], status["restartCount"]) == (2, 1)
    assert "failureCount" not in status
    assert "failures" not in status, "the trainers exited 15, for they were told to stop"
    assert status["startTime"] > job_history.versions("paused")[0]["metadata"]["creationTimestamp"]
    assert "Restarting" not in job_history.phases("paused"), "there is no back-off"
    for reason in ("Suspended", "Resumed"):
        jobs.wait(lambda reason=reason: jobs.events("paused", reason), f"an Event {reason}")
