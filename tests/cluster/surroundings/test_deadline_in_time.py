"""A deadline ends the job on time, however long what failed has to wait."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import pytest

from api.constants import LABEL_ATTEMPT
from api.objects import parse_time
from tests.live.faulty import impose, install_webhook
from tests.live.lab import Lab, paddle_job, shell

HELD_SECONDS = 7


@contextmanager
def quota(lab: Lab) -> Iterator[None]:
    """No pod is allowed: creates pause for 10 s, then for twice as long each time."""
    impose(lab, "none", pods=0)
    yield


@contextmanager
def refusing_webhook(lab: Lab) -> Iterator[None]:
    """A webhook where nobody listens: an error, and retried ever more seldom."""
    install_webhook(lab, 1)
    yield
    lab.kubectl("delete", "validatingwebhookconfiguration", lab.namespace)


@pytest.mark.parametrize(
    ("trouble", "deadline"),
    [
        (quota, {"activeDeadlineSeconds": 12}),  # the tries come after 0, 10 and 30 s
        (quota, {"startingDeadlineSeconds": 12}),
        (refusing_webhook, {"activeDeadlineSeconds": 7}),  # after 0 to 2.5, 5 and 10 s
    ],
)
def test_job_whose_pods_cannot_be_created_fails_in_time(lab, trouble, deadline):
    with trouble(lab):
        lab.submit(paddle_job("held", {"worker": (1, shell("true"))}, **deadline))
        check_in_time(lab, *deadline.values())


def test_job_that_a_pod_of_a_later_attempt_holds_up_fails_in_time(lab: Lab) -> None:
    """Whoever may make pods beside a job can have it wait for a status that nobody writes."""
    roles = {"worker": (1, shell("exec sleep 3600"))}
    lab.submit(paddle_job("held", roles, activeDeadlineSeconds=HELD_SECONDS))
    (pod,) = lab.wait(lambda: lab.pods("held"), "its pod")
    kept = {key: pod["metadata"][key] for key in ("labels", "ownerReferences")}
    kept["labels"] |= {LABEL_ATTEMPT: "999"}
    forged = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "later", **kept}}
    lab.submit({**forged, "spec": shell("exec sleep 3600")["spec"]})
    check_in_time(lab, HELD_SECONDS)


def check_in_time(lab: Lab, deadline: int) -> None:
    status = lab.wait_phase("held", "Failed")
    took = (moment(status["completionTime"]) - moment(status["startTime"])).total_seconds()
    assert took >= deadline, lab.condition("held", "Failed")


def moment(text: str) -> datetime:
    parsed = parse_time(text)
    assert parsed
    return parsed
