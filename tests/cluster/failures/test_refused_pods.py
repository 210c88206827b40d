"""Pods that a namespace's rules refuse for good: the job says so, and others do not notice."""

import json
from collections.abc import Iterator

import pytest

from localcluster import Cluster, clock
from tests.conftest import new_namespace
from tests.live.lab import Lab, paddle_job, shell
from tests.live.proxy import audit_entries

LOOK_SECONDS = 5.0
MOST_TRIES = 2
STRICT = {
    "runAsNonRoot": True,
    "runAsUser": 65532,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


@pytest.fixture
def restricted(operated: Cluster) -> Iterator[Lab]:
    """A namespace in which Pod Security allows what is restricted alone."""
    with new_namespace(operated) as namespace:
        label = "pod-security.kubernetes.io/enforce=restricted"
        operated.kubectl("label", "namespace", namespace, label)
        yield Lab(operated, namespace)


def test_job_that_asks_for_a_folder_of_the_host_says_that_it_may_not(
    restricted: Lab, lab: Lab
) -> None:
    template = shell("exit 0", securityContext=STRICT)
    greedy = json.loads(json.dumps(template))
    greedy["spec"]["volumes"] = [{"name": "host", "hostPath": {"path": "/"}}]
    restricted.submit(
        paddle_job("greedy", {"worker": (2, greedy)}),
        paddle_job("modest", {"worker": (2, template)}),
    )
    restricted.wait(lambda: "hostPath" in told(restricted), "it says so")
    assert restricted.condition("greedy", "Pending")["reason"] == "CreateRefused"
    restricted.wait(lambda: restricted.events("greedy", "CreateRefused"), "an Event says so")
    restricted.wait_completed("modest")
    lab.submit(paddle_job("elsewhere", {"worker": (1, shell("exit 0"))}))
    lab.wait_completed("elsewhere")
    clock.sleep(LOOK_SECONDS)
    assert not restricted.pods("greedy")
    assert tries(restricted) <= MOST_TRIES, "it is not asked for again and again"


def told(lab: Lab) -> str:
    return str(lab.condition("greedy", "Pending").get("message"))


def tries(lab: Lab) -> int:
    """How often a pod of the job was asked for in the first ten seconds."""
    times = [
        entry["requestReceivedTimestamp"]
        for entry in audit_entries(lab.cluster)
        if entry["verb"] == "create"
        and entry["objectRef"]["resource"] == "pods"
        and entry["objectRef"].get("namespace") == lab.namespace
        and entry.get("responseStatus", {}).get("code") == 403
    ]
    return len(times)
