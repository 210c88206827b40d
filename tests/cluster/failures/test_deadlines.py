"""Deadlines that end a job, and waits that cannot end well.

The operator of these jobs has short graces, and the nodes look for a missing ConfigMap as seldom as
kubelets do: longer than the grace of a configuration that cannot heal.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from api.objects import Raw, parse_time
from localcluster import Cluster
from localcluster.machine import clock
from tests.conftest import CONFIG_RETRY_SECONDS, new_namespace
from tests.live.faulty import deleted_at
from tests.live.history import History
from tests.live.lab import CORE, PADDLE_JOBS, Lab, paddle_job, shell
from tests.live.operated import operator_beside

CONFIG_GRACE, IMAGE_GRACE = 2, 20
ACTIVE, STARTING, TTL = 6, 10, 3
LATE_SECONDS = 30.0
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


ENDS = {
    "active": (paddle_job("active", one(WAITS), activeDeadlineSeconds=ACTIVE), "DeadlineExceeded"),
    "starting": (
        paddle_job("starting", one(placed(WAITS, **NOWHERE)), startingDeadlineSeconds=STARTING),
        "StartingDeadlineExceeded",
    ),
    "bad-name": (
        paddle_job("bad-name", {"ps": (1, WAITS), **one(shell("true", image="Not:A:Name"))}),
        "ImageError",
    ),
    "bad-key": (
        paddle_job("bad-key", {"ps": (1, WAITS), **one(with_key("settings", "none"))}),
        "ConfigError",
    ),
    "no-image": (
        paddle_job("no-image", one(shell("true", image="nowhere.example.com/none"))),
        "ImageError",
    ),
    "no-map": (paddle_job("no-map", one(with_key("none", "key"))), "ConfigError"),
    "container": (
        paddle_job("container", one(shell("exec sleep 3600", name="Paddle"))),
        "InvalidSpec",
    ),
    "mount": (
        paddle_job("mount", one(shell("exec sleep 3600", volumeMounts=[MOUNT]))),
        "InvalidSpec",
    ),
    "quantity": (
        paddle_job(
            "quantity", one(shell("exec sleep 3600", resources={"limits": {"cpu": "many"}}))
        ),
        "InvalidSpec",
    ),
    "above": (paddle_job("above", one(shell("exec sleep 3600", resources=ABOVE))), "InvalidSpec"),
}
AFTER = {
    "active": ACTIVE,
    "starting": STARTING,
    "bad-name": CONFIG_GRACE,
    "bad-key": CONFIG_GRACE,
    "no-image": IMAGE_GRACE,
    "no-map": IMAGE_GRACE,
    "container": CONFIG_GRACE,
    "mount": CONFIG_GRACE,
    "quantity": CONFIG_GRACE,
    "above": CONFIG_GRACE,
}
GOES_ON = {
    "heals": paddle_job("heals", one(with_key("later", "key"))),
    # Its worker holds the ConfigMap back: the server waits in CreateContainerConfigError.
    "half": paddle_job("half", {"ps": (1, WAITS), **one(placed(WAITS, **NOWHERE))}),
}
KEPT = {
    "brief": paddle_job("brief", one(shell("exit 0")), ttlSecondsAfterFinished=TTL),
    "at-once": paddle_job("at-once", one(shell("exit 1")), ttlSecondsAfterFinished=0),
}


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
    lab.submit(*(job for job, _ in ENDS.values()), *GOES_ON.values(), *KEPT.values())
    lab.wait(lambda: '"later" not found' in waits_for(lab, "heals-worker-0"), "heals waits")
    lab.kubectl("create", "configmap", "later", "--from-literal=key=value")
    return lab


def waits_for(lab: Lab, pod: str) -> str:
    """What the kubelet says of the pod's container."""
    status = (lab.get(CORE, f"pods/{pod}") or {}).get("status") or {}
    states = [each["state"].get("waiting") or {} for each in status.get("containerStatuses", ())]
    return " ".join(str(state.get("message")) for state in states)


def seconds_to_end(job: Raw) -> float:
    """From the creation to the end: in a crowd, a job's start is told a little late."""
    start = parse_time(job["metadata"]["creationTimestamp"])
    end = parse_time(job["status"]["completionTime"])
    assert start and end
    return (end - start).total_seconds()


@pytest.mark.parametrize("name", ENDS)
def test_job_ends_when_its_time_is_up(jobs: Lab, name: str) -> None:
    jobs.wait_phase(name, "Failed")
    assert jobs.condition(name, "Failed")["reason"] == ENDS[name][1]
    took = seconds_to_end(jobs.job(name))
    late = CONFIG_RETRY_SECONDS + LATE_SECONDS
    assert AFTER[name] - 1 <= took < AFTER[name] + late, f"times are whole seconds: {took}"


@pytest.mark.parametrize("name", ENDS)
def test_pods_and_their_slots_are_free_then(jobs: Lab, name: str) -> None:
    jobs.wait_phase(name, "Failed")
    jobs.wait(lambda: not jobs.pods(name), f"pods of {name} go")


def test_end_says_what_the_job_waited_for(jobs: Lab) -> None:
    for name in ENDS:
        jobs.wait_phase(name, "Failed")
    says = {name: jobs.condition(name, "Failed")["message"] for name in ENDS}
    assert says["active"] == f"the job was active for longer than {ACTIVE} s"
    assert "not all pods ran within" in says["starting"]
    assert "1 of 1 pods unscheduled" in says["starting"]
    assert "bad-name-worker-0: InvalidImageName" in says["bad-name"]
    assert "couldn't find key none in ConfigMap" in says["bad-key"]
    assert "no-image-worker-0: ErrImagePull: " in says["no-image"]
    assert '"none" not found' in says["no-map"]
    assert 'is invalid: spec.containers[0].name: Invalid value: "Paddle"' in says["container"]
    assert 'volumeMounts[0].name: Not found: "none"' in says["mount"]
    assert "quantities must match" in says["quantity"]
    assert "must be less than or equal to cpu limit" in says["above"]


def test_end_of_what_never_started_leaves_a_record(jobs: Lab) -> None:
    for name in ("bad-name", "no-image", "no-map", "container"):
        jobs.wait_phase(name, "Failed")
        (failure,) = jobs.status(name)["failures"]
        assert (failure["pod"], failure["reason"]) == (f"{name}-worker-0", ENDS[name][1])
        assert failure["message"] == jobs.condition(name, "Failed")["message"]


def test_limit_of_a_limit_range_ends_no_job(jobs: Lab) -> None:
    """It may be put right. The template says nothing of it."""
    with new_namespace(jobs.cluster) as namespace:
        bounded = Lab(jobs.cluster, namespace)
        bounded.submit(SMALL)
        template = shell("exec sleep 3600", resources={"requests": {"memory": "1Gi"}})
        with operator_beside(bounded.cluster, namespace, "--config-error-after=1"):
            bounded.submit(paddle_job("asks", one(template)))
            bounded.wait(lambda: "memory limit of" in pending(bounded, "asks"), "it says so")
            bounded.wait(
                lambda: waited_seconds(bounded, "asks") > CONFIG_GRACE, "the grace is over"
            )
            assert bounded.condition("asks", "Pending")["reason"] == "CreateRefused"
            bounded.kubectl("delete", "limitrange", "small")
            bounded.wait_phase("asks", "Running")


def pending(lab: Lab, name: str) -> str:
    return str(lab.condition(name, "Pending").get("message"))


def waited_seconds(lab: Lab, name: str) -> float:
    """For how long the job has said so."""
    since = parse_time(lab.condition(name, "Pending").get("lastTransitionTime"))
    return (clock.utc_now() - since).total_seconds() if since else 0.0


def test_configuration_that_comes_late_is_waited_for(jobs: Lab) -> None:
    jobs.wait_phase("heals", "Running")


def test_waiting_for_the_attempts_own_config_map_is_no_error(jobs: Lab) -> None:
    jobs.wait(lambda: "not found" in waits_for(jobs, "half-ps-0"), "the server waits")
    server = jobs.get(CORE, "pods/half-ps-0")
    (container,) = server["status"]["containerStatuses"]
    assert container["state"]["waiting"]["reason"] == "CreateContainerConfigError"
    jobs.wait_phase("no-image", "Failed")  # many graces later
    jobs.wait_phase("half", "Pending")
    made = parse_time(server["metadata"]["creationTimestamp"])
    failed = parse_time(jobs.status("no-image")["completionTime"])
    assert made and failed
    assert failed - made > timedelta(seconds=CONFIG_GRACE)


@pytest.mark.parametrize(("name", "ttl"), [("brief", TTL), ("at-once", 0)])
def test_ended_job_goes_after_its_time_to_live(jobs, history, name, ttl):
    jobs.wait(lambda: jobs.get(PADDLE_JOBS, f"paddlejobs/{name}") is None, f"{name} is deleted")
    jobs.wait(lambda: not jobs.pods(name), f"pods of {name} go")
    ended = parse_time(history.versions(name)[-1]["status"]["completionTime"])
    assert ended
    waited = (deleted_at(jobs, name) - ended).total_seconds()
    assert ttl <= waited < ttl + LATE_SECONDS
