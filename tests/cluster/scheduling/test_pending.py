"""A job that waits says why in one bounded sentence, and does not say it again and again."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from api.constants import Reason
from localcluster import Cluster
from tests.conftest import new_namespace
from tests.live import volcano
from tests.live.history import History
from tests.live.lab import CORE, Lab, paddle_job, shell
from tests.live.pdj import assert_explained

Raw = dict[str, Any]
GPUS = shell("exec sleep 3600", resources={"limits": {"nvidia.com/gpu": "100"}})
NO_IMAGE = "nowhere.example.com/none:v1"
LONG_IMAGE = "No-Such-Name/" + "x" * 2000
FULL = "queue default is over its capability"
MOST_CHARACTERS = 500
POKES = 5


def gang() -> Raw:
    """A job whose pods Volcano is to place."""
    template = shell("exec sleep 3600")
    template["spec"] |= {"schedulerName": "volcano", "nodeSelector": {"disk": "none"}}
    return paddle_job("queued", {"worker": (2, template)})


JOBS = {
    "gpus": paddle_job("gpus", {"ps": (2, GPUS), "worker": (2, GPUS)}),
    "pull": paddle_job("pull", {"worker": (2, shell("true", image=NO_IMAGE))}),
    "queued": gang(),
    "long": paddle_job("long", {"worker": (1, shell("true", image=LONG_IMAGE))}),
}
SAYS = {
    "gpus": ("Unschedulable", r"4 of 4 pods unscheduled since \d\d:\d\d:\d\dZ: "
             r"0/3 nodes are available: 3 Insufficient nvidia\.com/gpu.*; next: "
             r"each pod asks for nvidia\.com/gpu 100: ask for less, or wait for room"),
    "pull": ("ImageError", r"pull-worker-[01]: ErrImagePull: .*none.* \(and 1 more\); next: "
             r"push the image .* before .*, or the job fails \(--image-error-after\)"),
    "queued": ("PodGroupPending", f"PodGroup not enqueued: {FULL}; next: .*"),
    "long": ("ImageError", r"long-worker-0: InvalidImageName: .*xxx; next: .* \(--config-error.*"),
}  # fmt: skip
COUNTS = {
    "gpus": {"ps": {"pending": 2}, "worker": {"pending": 2}},
    "pull": {"worker": {"starting": 2}},
    "queued": {"worker": {"pending": 2}},
    "long": {"worker": {"starting": 1}},
}
"""Where the pods end up, for counts are written after what the job waits for."""


@pytest.fixture(scope="module")
def jobs(module_lab: Lab, job_history: History) -> Lab:
    """Jobs that wait for what does not come."""
    module_lab.submit(*JOBS.values())
    hold_back(module_lab, "queued")
    for name in JOBS:
        module_lab.wait(lambda name=name: says(module_lab, name), f"{name} tells")
    return module_lab


def hold_back(lab: Lab, job: str) -> None:
    """What Volcano writes of a PodGroup whose queue is full."""
    selector = f"batch.paddlepaddle.org/job-name={job}"
    (group,) = lab.wait(lambda: lab.items(volcano.API, "podgroups", selector), "a PodGroup")
    condition = {"type": "Unschedulable", "status": "True", "message": FULL}
    condition |= {"reason": "NotEnoughResources", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status = json.dumps({"status": {"phase": "Pending", "conditions": [condition]}})
    name = group["metadata"]["name"]
    lab.kubectl("patch", volcano_group(name), "--subresource=status", "--type=merge", "-p", status)


def volcano_group(name: str) -> str:
    """A PodGroup as kubectl names it."""
    return f"podgroups.scheduling.volcano.sh/{name}"


def says(lab: Lab, name: str) -> bool:
    """Whether the job says what it should, its pods having come as far as they can."""
    status, condition = lab.status(name), lab.condition(name, "Pending")
    reason, pattern = SAYS[name]
    has_come = all(status.get(role, {}).items() >= of.items() for role, of in COUNTS[name].items())
    is_told = condition.get("reason") == reason
    return has_come and is_told and re.fullmatch(pattern, condition["message"]) is not None


@pytest.mark.parametrize("name", JOBS)
def test_job_says_what_it_waits_for(jobs: Lab, name: str) -> None:
    assert says(jobs, name)


def test_a_gang_that_is_held_back_is_explained(jobs: Lab) -> None:
    assert_explained(jobs, "queued", Reason.POD_GROUP_PENDING)


@pytest.mark.parametrize("name", JOBS)
def test_sentence_is_bounded(jobs: Lab, name: str) -> None:
    assert len(jobs.condition(name, "Pending")["message"]) < MOST_CHARACTERS


def test_time_is_when_the_oldest_pod_was_refused(jobs: Lab) -> None:
    times = [
        condition["lastTransitionTime"]
        for pod in jobs.pods("gpus")
        for condition in pod["status"]["conditions"]
        if (condition["type"], condition["status"]) == ("PodScheduled", "False")
    ]
    since = jobs.condition("gpus", "Pending")["message"].split(" since ")[1][:9]
    assert min(times).endswith(f"T{since}")


@pytest.mark.parametrize("name", ["gpus", "pull", "queued"])
def test_sentence_is_written_once(jobs: Lab, job_history: History, name: str) -> None:
    """News of the pods that change nothing are looked at, and nothing is written."""
    before = int(jobs.job(name)["metadata"]["resourceVersion"])
    for number in range(POKES):
        jobs.kubectl("annotate", "pod", "--overwrite", f"poke={number}", "-l",
                     f"batch.paddlepaddle.org/job-name={name}")  # fmt: skip
    patch = json.dumps({"spec": {"ttlSecondsAfterFinished": 9}})
    jobs.kubectl("patch", "pdj", name, "--type=merge", "-p", patch)
    jobs.wait(lambda: jobs.status(name)["observedGeneration"] == 2, "the change is seen")
    written = [
        version
        for version in job_history.versions(name)
        if int(version["metadata"]["resourceVersion"]) > before
        and version["metadata"]["generation"] == 1
    ]
    assert written == []


def test_pull_is_told_once_while_it_is_tried_again(jobs: Lab, job_history: History) -> None:
    jobs.wait(lambda: are_backing_off(jobs, "pull"), "the kubelets back off")
    told = [
        condition["message"]
        for version in job_history.versions("pull")
        for condition in version.get("status", {}).get("conditions", ())
        if condition["type"] == "Pending" and "(and 1 more)" in condition["message"]
    ]
    causes = [message for message in dict.fromkeys(told) if "ErrImagePull" in message]
    assert len(causes) == 1
    assert told[-1] == causes[0], "that the kubelet backs off does not replace the cause"


def are_backing_off(lab: Lab, job: str) -> bool:
    """Whether all the job's pods show that, not why."""
    states = [
        status["state"]["waiting"]["reason"]
        for pod in lab.pods(job)
        for status in pod["status"]["containerStatuses"]
    ]
    return states == ["ImagePullBackOff"] * len(states)


@pytest.fixture
def poor(operated: Cluster) -> Iterator[Lab]:
    """A namespace that has room for one pod."""
    with new_namespace(operated) as namespace:
        lab = Lab(operated, namespace)
        lab.kubectl("create", "quota", "few", "--hard=pods=1")
        used = {"pods": "0"}
        lab.wait(
            lambda: (lab.get(CORE, "resourcequotas/few").get("status") or {}).get("used") == used,
            "the quota is counted",
        )
        yield lab


def test_quota_is_told_and_the_job_goes_on_when_it_is_raised(poor: Lab) -> None:
    poor.submit(paddle_job("squeezed", {"worker": (2, shell("exec sleep 3600"))}))
    poor.wait(
        lambda: "on node-" in poor.condition("squeezed", "Pending").get("message", ""), "told"
    )
    assert poor.condition("squeezed", "Pending")["reason"] == "PartlyPlaced"
    assert re.fullmatch(
        r"1 of 2 pods hold quota and cannot start on node-\d \(1\); not placed: "
        r'pods "squeezed-worker-1" is forbidden: exceeded quota: few, .*; next: .*',
        poor.condition("squeezed", "Pending")["message"],
    )
    assert poor.pod_names("squeezed") == ["squeezed-worker-0"]
    poor.wait(lambda: poor.events("squeezed", "PartlyPlaced"), "an Event")
    poor.kubectl("patch", "quota", "few", "--type=merge", "-p", '{"spec":{"hard":{"pods":"2"}}}')
    poor.wait_phase("squeezed", "Running")
    assert len(poor.events("squeezed", "PartlyPlaced")) == 1
