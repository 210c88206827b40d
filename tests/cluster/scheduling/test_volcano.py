"""Gangs by Volcano's PodGroup: the user's, or the operator's own."""

from typing import Any

import pytest

from api.constants import Reason
from localcluster.machine import clock
from tests.live import volcano
from tests.live.lab import SERVER, Lab, Raw, paddle_job, shell
from tests.live.pdj import assert_explained

GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
SUBMISSIONS = 3
CALM_SECONDS = 4.0


def gang_job(name: str, **spec: Any) -> Raw:
    """As the manual shows it: the scheduler is named in the worker's template alone."""
    worker = shell("exit 0")
    worker["spec"]["schedulerName"] = "volcano"
    return paddle_job(name, {"ps": (2, SERVER), "worker": (2, worker)}, **spec)


def pod_group(name: str, least: int) -> Raw:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": least},
    }


def groups_of(lab: Lab, name: str) -> list[Raw]:
    return lab.items(volcano.API, "podgroups", f"batch.paddlepaddle.org/job-name={name}")


def own_group(lab: Lab, name: str) -> Raw:
    """The operator's PodGroup of a job, once it is there."""
    return dict(lab.wait(lambda: groups_of(lab, name), f"a PodGroup of {name}")[0])


@pytest.fixture(scope="module")
def jobs(module_lab: Lab) -> Lab:
    module_lab.submit(gang_job("joins", cleanPodPolicy="Never"), pod_group("joins", 4))
    module_lab.submit(gang_job("alone", cleanPodPolicy="Never"))
    return module_lab


def test_users_group_is_joined_by_every_pod_of_every_role(jobs: Lab) -> None:
    jobs.wait_completed("joins")
    pods = jobs.pods("joins")
    assert len(pods) == 4
    assert {pod["spec"]["schedulerName"] for pod in pods} == {"volcano"}
    assert {pod["metadata"]["annotations"][GROUP_ANNOTATION] for pod in pods} == {"joins"}


def test_users_group_is_never_changed(jobs: Lab) -> None:
    jobs.wait_completed("joins")
    group = jobs.get(volcano.API, "podgroups/joins")
    assert group["metadata"]["generation"] == 1
    assert "ownerReferences" not in group["metadata"]
    assert not groups_of(jobs, "joins")


def test_operator_makes_a_group_where_the_user_has_none(jobs: Lab) -> None:
    jobs.wait_completed("alone")
    job = jobs.job("alone")
    name = f"alone-{job['metadata']['uid'].replace('-', '')[:8]}"
    assert job["status"]["podGroup"] == name
    assert {p["metadata"]["annotations"][GROUP_ANNOTATION] for p in jobs.pods("alone")} == {name}


def test_operators_group_holds_all_pods_while_they_run(jobs: Lab) -> None:
    assert own_group(jobs, "alone")["spec"]["minMember"] == 4


def test_job_before_its_group_in_one_file_never_fails(lab: Lab) -> None:
    names = [f"once-{number}" for number in range(SUBMISSIONS)]
    for name in names:
        lab.submit(gang_job(name), pod_group(name, 4))
    lab.wait_all(names, "Completed")
    assert {lab.status(name).get("podGroup") for name in names} == set(names)
    assert {g["metadata"]["name"] for g in lab.items(volcano.API, "podgroups")} == set(names)


def test_group_that_wants_more_than_the_job_has_is_told(lab: Lab) -> None:
    lab.submit(pod_group("greedy", 9), gang_job("greedy"))
    lab.wait(lambda: lab.condition("greedy", "Pending").get("reason") == "PodGroupInvalid", "told")
    assert "minMember 9" in lab.condition("greedy", "Pending")["message"]
    assert "4 pods" in lab.condition("greedy", "Pending")["message"]
    assert not lab.pods("greedy")
    assert_explained(lab, "greedy", Reason.POD_GROUP_INVALID)


def test_group_deleted_while_running_stops_nothing_and_is_told(lab: Lab) -> None:
    workers = shell("exec sleep 3600")
    workers["spec"]["schedulerName"] = "volcano"
    lab.submit(paddle_job("orphan", {"worker": (2, workers)}), pod_group("orphan", 2))
    lab.wait_phase("orphan", "Running")
    before = lab.pod_names("orphan")
    lab.kubectl("delete", "podgroups.scheduling.volcano.sh", "orphan")
    lab.wait(lambda: lab.events("orphan", "PodGroupUnavailable"), "an Event")
    assert lab.condition("orphan", "Running")["reason"] == "PodGroupUnavailable"
    assert_explained(lab, "orphan", Reason.POD_GROUP_UNAVAILABLE)
    assert lab.pod_names("orphan") == before
    assert lab.status("orphan")["phase"] == "Running"


def test_gang_whose_queue_lets_it_in_late_waits_calmly_and_starts_then(lab, tmp_path):
    lab.cluster.stop(volcano.SCHEDULER)
    try:
        lab.submit(pod_group("queued", 4), gang_job("queued"))
        say(lab, "queued", "Pending")
        lab.wait(lambda: is_held(lab, "queued"), "so")
        version = lab.job("queued")["metadata"]["resourceVersion"]
        clock.sleep(CALM_SECONDS)
        assert lab.job("queued")["metadata"]["resourceVersion"] == version
        say(lab, "queued", "Inqueue")
    finally:
        volcano.start_scheduler(lab.cluster, tmp_path)
    lab.wait_completed("queued")


def is_held(lab: Lab, job: str) -> bool:
    """Whether the job says that its gang waits, and counts all of its pods: nothing is to come."""
    status, told = lab.status(job), lab.condition(job, "Pending").get("message", "")
    pending = [status.get(role, {}).get("pending") for role in ("ps", "worker")]
    return pending == [2, 2] and "not enqueued" in told


def say(lab: Lab, group: str, phase: str) -> None:
    lab.patch(volcano.API, f"podgroups/{group}/status", status={"phase": phase})
