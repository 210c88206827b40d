"""Deadlines that end a job, and waits that cannot end well.

The operator of these jobs has short graces, and the nodes look for a missing ConfigMap as seldom as
kubelets do: longer than the grace of a configuration that cannot heal.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from api.objects import Raw, parse_time
from localcluster import Cluster
from localcluster.machine import clock
from tests.conftest import new_namespace
from tests.live.faulty import deleted_at, wait_refused
from tests.live.history import History
from tests.live.lab import CORE, PADDLE_JOBS, Lab, paddle_job, shell
from tests.live.operated import operator_beside

CONFIG_GRACE, IMAGE_GRACE = 2, 20
ACTIVE, STARTING, TTL = 6, 45, 3
"""STARTING leaves a busy scheduler the time to say why the pod has no node."""
NOWHERE = {"nodeSelector": {"disk": "none"}}
WAITS = shell("exec sleep 3600")
MOUNT = {"name": "none", "mountPath": "/none"}
ABOVE = {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}
SMALL = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "small"},
    "spec": {"limits": [{"type": "Container", "default": {"memory": "512Mi"}}]},
}


def with_key(config_map: str, key: str) -> Raw:
    source = {"configMapKeyRef": {"name": config_map, "key": key}}
    return shell("exec sleep 3600", env=[{"name": "WANTED", "valueFrom": source}])


def placed(template: Raw, **pod: Any) -> Raw:
    """The template with more of its pod spec set."""
    return {"spec": {**template["spec"], **pod}}


def one(template: Raw) -> dict[str, tuple[int, Raw]]:
    return {"worker": (1, template)}


def sleeps(job: str, /, **container: Any) -> Raw:
    return paddle_job(job, one(shell("exec sleep 3600", **container)))


ENDS: dict[str, tuple[str, float, str]] = {
    "active": ("DeadlineExceeded", ACTIVE, f"the job was active for longer than {ACTIVE} s"),
    "starting": ("StartingDeadlineExceeded", STARTING, "not all pods ran.*1 of 1 pods unscheduled"),
    "bad-name": ("ImageError", CONFIG_GRACE, "bad-name-worker-0: InvalidImageName"),
    "bad-key": ("ConfigError", CONFIG_GRACE, "couldn't find key none in ConfigMap"),
    "no-image": ("ImageError", IMAGE_GRACE, "no-image-worker-0: ErrImagePull: "),
    "no-map": ("ConfigError", IMAGE_GRACE, '"none" not found'),
    "container": ("InvalidSpec", CONFIG_GRACE, r'containers\[0].name: Invalid value: "Paddle"'),
    "mount": ("InvalidSpec", CONFIG_GRACE, r'volumeMounts\[0].name: Not found: "none"'),
    "quantity": ("InvalidSpec", CONFIG_GRACE, "quantities must match"),
    "above": ("InvalidSpec", CONFIG_GRACE, "must be less than or equal to cpu limit"),
}
"""Why a job ends, after how long, and what it says then."""
JOBS = (
    paddle_job("active", one(WAITS), activeDeadlineSeconds=ACTIVE),
    paddle_job("starting", one(placed(WAITS, **NOWHERE)), startingDeadlineSeconds=STARTING),
    paddle_job("bad-name", {"ps": (1, WAITS), **one(shell("true", image="Not:A:Name"))}),
    paddle_job("bad-key", {"ps": (1, WAITS), **one(with_key("settings", "none"))}),
    paddle_job("no-image", one(shell("true", image="nowhere.example.com/none"))),
    paddle_job("no-map", one(with_key("none", "key"))),
    sleeps("container", name="Paddle"),
    sleeps("mount", volumeMounts=[MOUNT]),
    sleeps("quantity", resources={"limits": {"cpu": "many"}}),
    sleeps("above", resources=ABOVE),
    paddle_job("heals", one(with_key("later", "key"))),
    # Its worker holds the ConfigMap back: the server waits in CreateContainerConfigError.
    paddle_job("half", {"ps": (1, WAITS), **one(placed(WAITS, **NOWHERE))}),
    paddle_job("brief", one(shell("exit 0")), ttlSecondsAfterFinished=TTL),
    paddle_job("at-once", one(shell("exit 1")), ttlSecondsAfterFinished=0),
)


@pytest.fixture(scope="module")
def lab(unattended: Cluster) -> Iterator[Lab]:
    """A namespace with an operator of short graces."""
    with new_namespace(unattended) as namespace:
        lab = Lab(unattended, namespace)
        lab.kubectl("create", "configmap", "settings", "--from-literal=key=value")
        graces = (f"--config-error-after={CONFIG_GRACE}", f"--image-error-after={IMAGE_GRACE}")
        with operator_beside(unattended, namespace, *graces):
            yield lab


@pytest.fixture(scope="module")
def history(lab: Lab) -> Iterator[History]:
    with History(lab, PADDLE_JOBS, "paddlejobs") as history:
        yield history


@pytest.fixture(scope="module")
def jobs(lab: Lab, history: History) -> Lab:
    """All jobs at once; one gets what it lacks in time."""
    lab.submit(*JOBS)
    lab.wait(lambda: '"later" not found' in waits_for(lab, "heals-worker-0"), "heals waits")
    lab.kubectl("create", "configmap", "later", "--from-literal=key=value")
    return lab


def waits_for(lab: Lab, pod: str) -> str:
    """What the kubelet says of the pod's container."""
    status = (lab.get(CORE, f"pods/{pod}") or {}).get("status") or {}
    states = [each["state"].get("waiting") or {} for each in status.get("containerStatuses", ())]
    return " ".join(str(state.get("message")) for state in states)


def moment(text: str | None) -> datetime:
    found = parse_time(text)
    assert found
    return found


@pytest.mark.parametrize("name", ENDS)
def test_job_ends_when_its_time_is_up(jobs: Lab, name: str) -> None:
    """From the creation on: in a crowd, a job's start is told a little late."""
    reason, after, _ = ENDS[name]
    status = jobs.wait_phase(name, "Failed")
    assert jobs.condition(name, "Failed")["reason"] == reason
    made = moment(jobs.job(name)["metadata"]["creationTimestamp"])
    took = (moment(status["completionTime"]) - made).total_seconds()
    assert took >= after - 1, f"times are whole seconds: {took}"


@pytest.mark.parametrize("name", ENDS)
def test_pods_and_their_slots_are_free_then(jobs: Lab, name: str) -> None:
    jobs.wait_phase(name, "Failed")
    jobs.wait(lambda: not jobs.pods(name), f"pods of {name} go")


@pytest.mark.parametrize("name", ENDS)
def test_end_says_what_the_job_waited_for(jobs: Lab, name: str) -> None:
    jobs.wait_phase(name, "Failed")
    assert re.search(ENDS[name][2], jobs.condition(name, "Failed")["message"])


@pytest.mark.parametrize("name", ["bad-name", "no-image", "no-map", "container"])
def test_end_of_what_never_started_leaves_a_record(jobs: Lab, name: str) -> None:
    (failure,) = jobs.wait_phase(name, "Failed")["failures"]
    assert (failure["pod"], failure["reason"]) == (f"{name}-worker-0", ENDS[name][0])
    assert failure["message"] == jobs.condition(name, "Failed")["message"]


def test_limit_of_a_limit_range_ends_no_job(jobs: Lab) -> None:
    """It may be put right. The template says nothing of it."""
    template = shell("exec sleep 3600", resources={"requests": {"memory": "1Gi"}})
    jobs.submit(SMALL)
    probe = {"metadata": {"name": "probe"}, "spec": template["spec"]}
    wait_refused(jobs, "pods", probe, "memory limit of")
    jobs.submit(paddle_job("asks", one(template)))

    def pending() -> Raw:
        return jobs.condition("asks", "Pending")

    jobs.wait(lambda: "memory limit of" in str(pending().get("message")), "it says so")
    over = moment(pending()["lastTransitionTime"]) + timedelta(seconds=CONFIG_GRACE)
    jobs.wait(lambda: clock.utc_now() > over, "the grace is over")
    assert pending()["reason"] == "CreateRefused"
    jobs.kubectl("delete", "limitrange", "small")
    jobs.wait_phase("asks", "Running")


def test_configuration_that_comes_late_is_waited_for(jobs: Lab) -> None:
    jobs.wait_phase("heals", "Running")


def test_waiting_for_the_attempts_own_config_map_is_no_error(jobs: Lab) -> None:
    jobs.wait(lambda: "not found" in waits_for(jobs, "half-ps-0"), "the server waits")
    server = jobs.get(CORE, "pods/half-ps-0")
    (container,) = server["status"]["containerStatuses"]
    assert container["state"]["waiting"]["reason"] == "CreateContainerConfigError"
    jobs.wait_phase("no-image", "Failed")  # many graces later
    jobs.wait_phase("half", "Pending")
    failed = moment(jobs.status("no-image")["completionTime"])
    made = moment(server["metadata"]["creationTimestamp"])
    assert failed - made > timedelta(seconds=CONFIG_GRACE)


@pytest.mark.parametrize(("name", "ttl"), [("brief", TTL), ("at-once", 0)])
def test_ended_job_goes_after_its_time_to_live(jobs, history, name, ttl):
    jobs.wait(lambda: jobs.get(PADDLE_JOBS, f"paddlejobs/{name}") is None, f"{name} is deleted")
    jobs.wait(lambda: not jobs.pods(name), f"pods of {name} go")
    ended = moment(history.versions(name)[-1]["status"]["completionTime"])
    waited = (deleted_at(jobs, name) - ended).total_seconds()
    assert waited >= ttl
