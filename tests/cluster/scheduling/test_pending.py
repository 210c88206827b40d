"""A job that waits says why in one sentence."""

import re
from collections.abc import Iterator

import pytest

from api.constants import Reason
from localcluster import Cluster
from tests.conftest import new_namespace
from tests.live import volcano
from tests.live.faulty import impose
from tests.live.lab import CORE, Lab, Raw, paddle_job, shell
from tests.live.pdj import assert_explained

GPUS = shell("exec sleep 3600", resources={"limits": {"nvidia.com/gpu": "100"}})
NO_IMAGE = "nowhere.example.com/none:v1"
LONG_IMAGE = "No-Such-Name/" + "x" * 2000
FULL = "queue default is over its capability"


def gang() -> Raw:
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
             r"each ps pod asks for nvidia\.com/gpu 100, but no node of the cluster has more "
             r"than 4: ask for less, or add larger nodes"),
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
def jobs(module_lab: Lab) -> Lab:
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
    path = f"podgroups/{group['metadata']['name']}/status"
    lab.patch(volcano.API, path, status={"phase": "Pending", "conditions": [condition]})


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


@pytest.fixture
def poor(operated: Cluster) -> Iterator[Lab]:
    with new_namespace(operated) as namespace:
        lab = Lab(operated, namespace)
        impose(lab, "few", pods=1)
        yield lab


def test_quota_is_told_and_the_job_goes_on_when_it_is_raised(poor: Lab) -> None:
    poor.submit(paddle_job("squeezed", {"worker": (2, shell("exec sleep 3600"))}))
    poor.wait(
        lambda: "on node-" in poor.condition("squeezed", "Pending").get("message", ""), "told"
    )
    assert poor.condition("squeezed", "Pending")["reason"] == "PartlyPlaced"
    assert re.fullmatch(
        r"1 of 2 pods hold quota on node-\d \(1\) and cannot start; not placed: "
        r'pods "squeezed-worker-1" is forbidden: exceeded quota: few, .*; next: .*',
        poor.condition("squeezed", "Pending")["message"],
    )
    assert poor.pod_names("squeezed") == ["squeezed-worker-0"]
    poor.wait(lambda: poor.events("squeezed", "PartlyPlaced"), "an Event")
    poor.patch(CORE, "resourcequotas/few", spec={"hard": {"pods": "2"}})
    poor.wait_phase("squeezed", "Running")
    assert len(poor.events("squeezed", "PartlyPlaced")) == 1
