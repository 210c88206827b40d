"""The operator dies in the middle of everything, and its successor goes on from status alone.

One is killed when an incident has just been written; the next starts some seconds later, and must
neither count again nor start a timer anew.
"""

import re
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import pytest

from api.objects import Raw, parse_time
from localcluster import Cluster
from localcluster.machine import clock
from localcluster.machine.process import Process
from tests.conftest import new_namespace
from tests.live.lab import CORE, Lab, paddle_job, shell
from tests.live.operated import run_operator
from tests.live.processes import http_get, listening_ports

DEADLINE = 30
DEAD_SECONDS = 6.0
WAITS = shell("exec sleep 3600")
FAILS = shell('test "$PADDLE_RENDEZVOUS" -lt 3 && exit 1; exit 0')
"""Its second restart is the one that has a back-off."""
SAMPLE = re.compile(
    r"^paddlejob_(created|completed|failed|restarted)_total\{(.*)\} (\S+)$", re.MULTILINE
)
BEFORE = Counter({"created": 5, "completed": 1, "restarted PodFailed": 2, "failed PodFailed": 1})
AFTER = Counter(
    {"completed": 1, "failed DeadlineExceeded": 1, "failed StartingDeadlineExceeded": 1}
)
"""The sum of what the operator that dies and its successor count."""


@dataclass
class Scene:
    lab: Lab
    successor: Process
    since: datetime


def read_totals(operator: Process) -> Counter[str]:
    """The job counters that an operator shows, without those that are zero."""
    (port,) = listening_ports(operator.pid)
    _, text = http_get(f"http://127.0.0.1:{port}/metrics")
    found: Counter[str] = Counter()
    for name, labels, value in SAMPLE.findall(text):
        reason = re.search(r'reason="(\w+)"', labels)
        found[name + (f" {reason[1]}" if reason else "")] += int(float(value))
    return +found


@pytest.fixture(scope="module")
def scene(unattended: Cluster) -> Iterator[Scene]:
    """Every job is under way when the operator dies; then another takes over."""
    with new_namespace(unattended) as namespace:
        lab = Lab(unattended, namespace)
        flags = ("--metrics-bind-address=127.0.0.1:0",)
        operator = run_operator(unattended, namespace, *flags)
        lab.submit(
            paddle_job("brief", {"worker": (1, shell("exit 0"))}),
            paddle_job("ends", {"worker": (1, shell("exit 5"))}),
        )
        lab.wait_completed("brief")
        lab.wait_phase("ends", "Failed")
        lab.submit(
            paddle_job("active", {"worker": (1, WAITS)}, activeDeadlineSeconds=DEADLINE),
            paddle_job("starting", {"worker": (1, nowhere())}, startingDeadlineSeconds=DEADLINE),
            paddle_job("hit", {"worker": (3, FAILS)}, backoffLimit=2),
        )
        lab.wait_phase("active", "Running")
        lab.wait(lambda: lab.status("hit").get("restartCount") == 2, "hit backs off")
        lab.wait(lambda: lab.events("hit", "PodFailed"), "the Event")
        lab.wait(lambda: read_totals(operator) >= BEFORE, "all is counted")
        assert read_totals(operator) == BEFORE
        operator.signal(signal.SIGKILL)
        clock.sleep(DEAD_SECONDS)
        since = clock.utc_now()
        successor = run_operator(unattended, namespace, *flags)
        yield Scene(lab, successor, since)
        unattended.stop(f"operator-{namespace}")


def nowhere() -> Raw:
    return {"spec": {**WAITS["spec"], "nodeSelector": {"disk": "none"}}}


def test_each_incident_is_counted_once(scene: Scene) -> None:
    status = scene.lab.wait_completed("hit")
    assert (status["attempt"], status["restartCount"], status["failureCount"]) == (3, 2, 2)
    assert len(status["failures"]) == 2


def test_each_incident_is_one_event(scene: Scene) -> None:
    scene.lab.wait_completed("hit")
    scene.lab.wait(lambda: scene.lab.events("hit", "WorkersSucceeded"), "the last Event")
    told = [
        event["count"]
        for event in scene.lab.items(CORE, "events")
        if (event["involvedObject"]["name"], event["reason"]) == ("hit", "PodFailed")
    ]
    assert sum(told) == 2


def test_next_attempt_is_made_after_its_back_off(scene: Scene) -> None:
    scene.lab.wait_completed("hit")
    record = scene.lab.status("hit")["failures"][-1]
    failed = parse_time(record["time"])
    made = [parse_time(pod["metadata"]["creationTimestamp"]) for pod in scene.lab.pods("hit")]
    assert failed
    assert all(each and (each - failed).total_seconds() >= 10 for each in made)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("active", "DeadlineExceeded"), ("starting", "StartingDeadlineExceeded")],
)
def test_deadline_is_not_started_anew(scene: Scene, name: str, reason: str) -> None:
    scene.lab.wait_phase(name, "Failed")
    assert scene.lab.condition(name, "Failed")["reason"] == reason
    status = scene.lab.status(name)
    start, end = parse_time(status["startTime"]), parse_time(status["completionTime"])
    assert start and end
    assert (end - start).total_seconds() >= DEADLINE
    assert start < scene.since, "the successor has not begun at 0"


def test_counters_have_counted_everything_once(scene: Scene) -> None:
    for name in ("active", "starting"):
        scene.lab.wait_phase(name, "Failed")
    scene.lab.wait_completed("hit")
    scene.lab.wait(lambda: read_totals(scene.successor) >= AFTER, "all is counted")
    assert read_totals(scene.successor) == AFTER
