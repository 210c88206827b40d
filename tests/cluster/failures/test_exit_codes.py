"""What the way in which a pod ended means to its job: exit codes, and spec.podFailurePolicy.

Of codes and rules, unit/reconcile/test_failure.py and test_failure_policy.py have all.
"""

import pytest

from api.objects import Raw
from tests.live.faulty import SAVES, evict, only_first
from tests.live.lab import Lab, paddle_job, shell

STOPS_WITH_15 = shell('trap "sleep 6; exit 15" TERM; test "$PADDLE_RENDEZVOUS" = 1 || exit 0; '
                      "while true; do sleep 0.1; done")  # fmt: skip
SERVER_THAT_EXITS_15 = shell('trap "exit 15" TERM; while true; do sleep 0.1; done')
COUNTS_EVICTIONS = {"action": "Count", "onPodConditions": [{"type": "DisruptionTarget"}]}
FAILS_ON_3 = {
    "action": "FailJob",
    "onExitCodes": {"operator": "In", "values": [3], "containerName": "paddle"},
}


def job(name: str, template: Raw, *rules: Raw, limit: int = 0) -> Raw:
    policy = {"podFailurePolicy": {"rules": rules}} if rules else {}
    return paddle_job(name, {"worker": (2, template)}, backoffLimit=limit, **policy)


def beside_a_proxy(template: Raw) -> Raw:
    """A trainer beside a container that goes on."""
    proxy = {"name": "proxy", "image": "busybox", "command": ["sh", "-c", "exec sleep 3600"]}
    template["spec"]["containers"].append(proxy)
    return template


@pytest.fixture(scope="module")
def jobs(module_lab: Lab) -> Lab:
    module_lab.submit(
        job("told-to-stop", STOPS_WITH_15),
        job("code-15", only_first("exit 15"), limit=1),
        job("eviction-counted", SAVES, COUNTS_EVICTIONS, limit=1),
        job("fatal", beside_a_proxy(shell("exit 3")), FAILS_ON_3, limit=9),
        paddle_job("servers", {"ps": (1, SERVER_THAT_EXITS_15), "worker": (1, shell("exit 0"))}),
    )
    module_lab.wait_all(("told-to-stop", "eviction-counted"), "Running")
    module_lab.kubectl("delete", "pod", "told-to-stop-worker-1", "--wait=false")
    evict(module_lab, "eviction-counted-worker-1")
    return module_lab


def test_pod_told_to_stop_exits_15_here(jobs: Lab) -> None:
    status = jobs.wait_completed("told-to-stop")
    assert (status["attempt"], status["restartCount"]) == (2, 1)
    assert "failureCount" not in status
    (record,) = status["failures"]
    assert record["reason"] == "PodVanished"
    assert record["message"].endswith("is being deleted")


@pytest.mark.parametrize("name", ["code-15", "eviction-counted"])
def test_restart_with_a_charge(jobs: Lab, name: str) -> None:
    status = jobs.wait_completed(name)
    assert (status["attempt"], status["restartCount"], status["failureCount"]) == (2, 1, 1)


def test_fatal_rule_ends_the_job_at_once(jobs: Lab) -> None:
    """The rule is for one container of two."""
    jobs.wait_phase("fatal", "Failed")
    assert jobs.condition("fatal", "Failed")["reason"] == "PodFailurePolicy"
    assert "restartCount" not in jobs.status("fatal")


def test_servers_that_are_stopped_at_the_end_have_not_failed(jobs: Lab) -> None:
    jobs.wait_completed("servers")
    jobs.wait(lambda: len(jobs.pods("servers")) == 1, "the servers are gone")
    status = jobs.status("servers")
    assert (status["phase"], status["ps"]["failed"]) == ("Completed", 0)
    assert "failures" not in status
