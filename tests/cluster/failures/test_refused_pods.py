"""Pods that a namespace's rules refuse for good: the job says so, and others do not notice."""

import json
from collections.abc import Iterator

import pytest

from api.constants import Reason
from localcluster import Cluster
from tests.conftest import new_namespace
from tests.live.faulty import restrict, unanswered
from tests.live.lab import Lab, paddle_job, shell
from tests.live.pdj import assert_explained
from tests.live.proxy import refused_creates

PAUSE_SECONDS = 9.5
"""Of ten seconds, less what the API server's clock may be told late."""
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
        lab = Lab(operated, namespace)
        restrict(lab)
        yield lab


def test_job_that_asks_for_a_folder_of_the_host_says_that_it_may_not(restricted, lab):
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
    assert_explained(restricted, "greedy", Reason.CREATE_REFUSED)
    restricted.wait_completed("modest")
    lab.submit(paddle_job("elsewhere", {"worker": (1, shell("exit 0"))}))
    lab.wait_completed("elsewhere")
    restricted.wait(lambda: len(refused_creates(restricted)) > 1, "it is asked for again")
    first, second, *_ = refused_creates(restricted)
    assert (second - first).total_seconds() >= PAUSE_SECONDS, "and not again and again"
    assert not restricted.pods("greedy")


def test_a_webhook_that_is_down_is_the_administrators_and_the_job_goes_on_after_it(lab):
    with unanswered(lab, "pods"):
        lab.submit(paddle_job("patient", {"worker": (2, shell("exit 0"))}))
        reason = "CreateUnanswered"
        lab.wait(lambda: lab.condition("patient", "Pending").get("reason") == reason, reason)
        assert "down.example.com" in lab.condition("patient", "Pending")["message"]
        assert_explained(lab, "patient", Reason.CREATE_UNANSWERED)
    lab.wait_completed("patient")


def told(lab: Lab) -> str:
    return str(lab.condition("greedy", "Pending").get("message"))
