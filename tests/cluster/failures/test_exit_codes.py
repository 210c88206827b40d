"""What the way in which a pod ended means to its job: exit codes, and spec.podFailurePolicy."""

from typing import Any

import pytest

from tests.live.faulty import SAVES, evict, only_first
from tests.live.lab import Lab, Raw, paddle_job, shell

STOPS_WITH_15 = shell('trap "sleep 6; exit 15" TERM; test "$PADDLE_RENDEZVOUS" = 1 || exit 0; '
                      "while true; do sleep 0.1; done")  # fmt: skip
SERVER_THAT_EXITS_15 = shell('trap "exit 15" TERM; while true; do sleep 0.1; done')


def on_codes(action: str, *values: int, container: str = "") -> Raw:
    named = {"containerName": container} if container else {}
    return {"action": action, "onExitCodes": {"operator": "In", "values": [*values], **named}}


def on_disruption(action: str) -> Raw:
    return {"action": action, "onPodConditions": [{"type": "DisruptionTarget"}]}


def with_policy(name: str, template: Raw, *rules: Raw, **spec: Any) -> Raw:
    return paddle_job(name, {"worker": (2, template)}, podFailurePolicy={"rules": rules}, **spec)


def beside_a_proxy(code: int) -> Raw:
    """A trainer that fails in its first attempt, beside a container that goes on."""
    template = only_first(f"exit {code}")
    proxy = {"name": "proxy", "image": "busybox", "command": ["sh", "-c", "exec sleep 3600"]}
    template["spec"]["containers"].append(proxy)
    return template


UNCHARGED = {
    "asks": (paddle_job("asks", {"worker": (2, only_first("exit 101"))}), "TrainerAskedRestart"),
    "told-to-stop": (paddle_job("told-to-stop", {"worker": (2, STOPS_WITH_15)}), "PodVanished"),
    "ignored": (
        with_policy("ignored", only_first("exit 3"), on_codes("Ignore", 3)),
        "FailurePolicyIgnore",
    ),
}
"""A job and why it is made again; of rules, unit/reconcile/test_failure_policy.py has all."""
CHARGED = {
    "code-15": paddle_job("code-15", {"worker": (2, only_first("exit 15"))}, backoffLimit=1),
    "other-container": with_policy(
        "other-container",
        beside_a_proxy(3),
        on_codes("FailJob", 3, container="proxy"),
        backoffLimit=1,
    ),
    "eviction-counted": with_policy(
        "eviction-counted", SAVES, on_disruption("Count"), backoffLimit=1
    ),
}
FATAL = {
    "fatal-container": with_policy(
        "fatal-container", beside_a_proxy(3), on_codes("FailJob", 3, container="paddle")
    ),
    "fatal-eviction": with_policy(
        "fatal-eviction", SAVES, on_disruption("FailJob"), backoffLimit=9
    ),
}
EVICTED = ("eviction-counted", "fatal-eviction")


@pytest.fixture(scope="module")
def jobs(module_lab: Lab) -> Lab:
    module_lab.submit(*(job for job, _ in UNCHARGED.values()), *CHARGED.values(), *FATAL.values())
    roles = {"ps": (1, SERVER_THAT_EXITS_15), "worker": (1, shell("exit 0"))}
    module_lab.submit(paddle_job("servers", roles))
    module_lab.wait_all(("told-to-stop", *EVICTED), "Running")
    module_lab.kubectl("delete", "pod", "told-to-stop-worker-1", "--wait=false")
    for name in EVICTED:
        evict(module_lab, f"{name}-worker-1")
    return module_lab


@pytest.mark.parametrize("name", UNCHARGED)
def test_restart_without_a_charge(jobs: Lab, name: str) -> None:
    status = jobs.wait_completed(name)
    assert (status["attempt"], status["restartCount"]) == (2, 1)
    assert "failureCount" not in status
    assert [record["reason"] for record in status["failures"]] == [UNCHARGED[name][1]]


def test_pod_told_to_stop_exits_15_here(jobs: Lab) -> None:
    (record,) = jobs.wait_completed("told-to-stop")["failures"]
    assert record["message"].endswith("is being deleted")


@pytest.mark.parametrize("name", CHARGED)
def test_restart_with_a_charge(jobs: Lab, name: str) -> None:
    status = jobs.wait_completed(name)
    assert (status["attempt"], status["restartCount"], status["failureCount"]) == (2, 1, 1)


@pytest.mark.parametrize("name", FATAL)
def test_fatal_rule_ends_the_job_at_once(jobs: Lab, name: str) -> None:
    jobs.wait_phase(name, "Failed")
    assert jobs.condition(name, "Failed")["reason"] == "PodFailurePolicy"
    assert "restartCount" not in jobs.status(name)


def test_servers_that_are_stopped_at_the_end_have_not_failed(jobs: Lab) -> None:
    jobs.wait_completed("servers")
    jobs.wait(lambda: not jobs.pods("servers"), "no pods")
    status = jobs.status("servers")
    assert (status["phase"], status["ps"]["failed"]) == ("Completed", 0)
    assert "failures" not in status
