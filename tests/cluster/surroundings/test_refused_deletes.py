"""Pods that nobody may delete or change: the job says so, and goes on as far as it can."""

from contextlib import AbstractContextManager

from api.constants import Reason
from tests.live.faulty import denied, only_first
from tests.live.lab import CORE, SERVER, Lab, paddle_job, shell
from tests.live.pdj import assert_explained

TOLD = "pods stay where they are"
"""Two pauses of 30 s at most, which are stretched: what fails once more right after many refusals
waits as long again. And what a pod takes to start."""

TRIES = 10
"""Jobs, until one's pod is woken by no kubelet before the operator tries."""


def pods_that_stay(lab: Lab, operation: str = "DELETE") -> AbstractContextManager[None]:
    """While the block lasts, nobody may delete, or change, a pod of the namespace."""
    return denied(lab, "", "pods", operation, TOLD)


def test_job_whose_pods_may_not_be_woken_says_so_and_runs_all_the_same(lab: Lab) -> None:
    with pods_that_stay(lab, "UPDATE"):
        names = map("asleep-{}".format, range(TRIES))
        told = next(name for name in names if tells_refusal(lab, name))
        assert_explained(lab, told, Reason.PATCH_REFUSED)
        lab.wait_completed(told)


def tells_refusal(lab: Lab, name: str) -> bool:
    """Let a server sleep until the worker has an address, and so a node.

    False where its kubelet, which looks again now and then, is before the operator.
    """
    worker, label = shell("exit 0"), f"{lab.namespace}-{name}"
    worker["spec"]["nodeSelector"] = {label: "here"}
    lab.submit(paddle_job(name, {"ps": (1, SERVER), "worker": (1, worker)}))
    lab.wait(lambda: waits_for_config_map(lab, f"{name}-ps-0"), "the server sleeps")
    lab.kubectl("label", "nodes", "--all", f"{label}=here")
    ends = ("Completed", "Completing")
    lab.wait(
        lambda: lab.events(name, "PatchRefused") or lab.status(name)["phase"] in ends,
        "an Event says so, or the job has ended",
    )
    lab.kubectl("label", "nodes", "--all", f"{label}-")
    return bool(lab.events(name, "PatchRefused"))


def waits_for_config_map(lab: Lab, pod: str) -> bool:
    status = (lab.get(CORE, f"pods/{pod}") or {"status": {}})["status"]
    (container,) = status.get("containerStatuses") or [{"state": {}}]
    return container["state"].get("waiting", {}).get("reason") == "CreateContainerConfigError"


def test_job_says_that_its_pods_may_not_be_deleted_and_goes_on_when_they_may(lab: Lab) -> None:
    with pods_that_stay(lab):
        job = paddle_job("held", {"worker": (2, only_first("exit 1"))}, backoffLimit=3)
        lab.submit(job)
        condition = lab.wait(lambda: told(lab), "it says so")
        assert TOLD in condition["message"]
        assert lab.status("held")["phase"] == "Restarting"
        lab.wait(lambda: lab.events("held", "DeleteRefused"), "an Event says so")
        assert_explained(lab, "held", Reason.DELETE_REFUSED)
    lab.wait_completed("held")


def test_ended_and_suspended_jobs_say_it_too(lab: Lab) -> None:
    names = ("ended", "suspended")
    with pods_that_stay(lab):
        lab.submit(
            paddle_job("ended", {"worker": (1, shell("exit 0"))}, cleanPodPolicy="Always"),
            paddle_job("suspended", {"worker": (1, shell("exec sleep 3600"))}),
        )
        lab.wait_phase("suspended", "Running")
        lab.edit("suspended", suspend=True)
        for name in names:
            condition = lab.wait(lambda name=name: told(lab, name), f"{name} says so")
            assert TOLD in condition["message"]
            lab.wait(lambda name=name: lab.events(name, "DeleteRefused"), "an Event says so")
    for name in names:
        lab.wait(lambda name=name: not lab.pods(name), f"no pod of {name}")
        lab.wait(lambda name=name: not told(lab, name), f"{name} waits for nothing")


def told(lab: Lab, name: str = "held") -> dict[str, str]:
    condition = lab.condition(name, "Pending")
    return condition if condition.get("reason") == "DeleteRefused" else {}
