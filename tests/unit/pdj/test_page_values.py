"""What the page is told of a job: rows, the timeline, and text that stays text."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from api.training import Point
from pdj.facts.facts import Facts, read_event
from pdj.facts.picture import JobPicture, pod_order
from pdj.facts.training import Training
from pdj.text.rows import row_of
from pdj.text.status import draw_job
from pdj.text.terminal import plain_values
from pdj.ui.detail import _training
from pdj.ui.encoding import encode
from pdj.ui.timeline import MAX_PODS, draw_timeline
from reconcile.words.progress import Progress
from tests.memory import builders
from tests.memory.builders import NOW
from tests.memory.builders import stamp as at

Raw = dict[str, Any]
T0 = NOW.timestamp()


def condition(type_: str, second: int, reason: str = "R", status: str = "True") -> Raw:
    return {"type": type_, "status": status, "reason": reason, "message": "why\nmore",
            "lastTransitionTime": at(second)}  # fmt: skip


def a_job(phase: str, *conditions: Raw, workers: int = 1, **status: Any) -> Raw:
    status = {"phase": phase, "attempt": 1, "conditions": [*conditions]} | status
    return builders.a_job("job").with_workers(workers).with_status(**status).build()


def a_pod(
    index: int, *, attempt: int = 1, created: int = 0, scheduled: int = 1, **state: Raw
) -> Raw:
    """A worker whose trainer is in this state."""
    trainer = {"name": "paddle", "restartCount": 0, **state}
    pod = builders.a_pod(a_job("Running"), index=index, attempt=attempt).bound("node", scheduled)
    raw = pod.with_status(phase="Running", containerStatuses=[trainer]).build()
    raw["metadata"] |= {"uid": f"{index}-{attempt}", "creationTimestamp": at(created)}
    return raw


def running(second: int) -> Raw:
    return {"running": {"startedAt": at(second)}}


def ended(start: int, end: int, code: int) -> Raw:
    times = {"startedAt": at(start), "finishedAt": at(end)}
    return {"terminated": {"exitCode": code, "reason": "Error", **times}}


def failure(attempt: int, second: int, index: int = 0) -> Raw:
    return {"attempt": attempt, "pod": f"job-worker-{index}", "role": "worker", "index": index,
            "reason": "PodFailed", "exitCode": 1, "time": at(second),
            "message": "oops"}  # fmt: skip


def pod_event(uid: str, reason: str, second: int, name: str = "job-worker-0") -> Raw:
    target = {"kind": "Pod", "name": name, "uid": uid}
    return {"metadata": {}, "involvedObject": target, "reason": reason, "lastTimestamp": at(second)}


def bars(job: Raw, pods: list[Raw], lane: int, *events: Raw) -> list[tuple[Any, ...]]:
    """The bars of a lane: start and end in seconds of the job, state, and the attempts' label."""
    drawn = draw_timeline(JobPicture(job, tuple(pods)), tuple(map(read_event, events)))
    found = drawn["lanes"][lane]
    return [
        (each["start"] - T0, each["end"] and each["end"] - T0, each["state"])
        + ((each["label"],) if found["kind"] == "attempts" else ())
        for each in found["bars"]
    ]


RUNS = a_job("Running", condition("PodsScheduled", 2), condition("Running", 5))
ENDED = a_job("Completed", condition("Completed", 9), completionTime=at(9))
NEW = {**a_job(""), "status": {}}
THIRD = a_job(
    "Running", condition("Running", 40), attempt=3, failures=[failure(1, 10), failure(2, 30)]
)
OF_THIRD = (
    [a_pod(0, attempt=3, created=35, scheduled=36, state=running(40))],
    [pod_event("0-2", "Scheduled", 15), pod_event("0-2", "Started", 18)],
)
BARS: dict[str, tuple[Raw, list[Raw], list[Raw], int, list[Any]]] = {
    "phases go on until now": (
        RUNS, [], [], 0, [(0, 2, "Pending"), (2, 5, "Starting"), (5, None, "Running")],
    ),
    "phases of the same second stand in their order": (
        ENDED, [a_pod(0, scheduled=2, state=ended(2, 9, 0))], [], 0,
        [(0, 2, "Pending"), (2, 9, "Running")],
    ),
    "a completed job whose events are gone has its phases": (
        ENDED, [a_pod(0, scheduled=2, state=ended(5, 9, 0))], [], 0,
        [(0, 2, "Pending"), (2, 5, "Starting"), (5, 9, "Running")],
    ),
    "a completed job has its attempt": (
        ENDED, [a_pod(0, scheduled=2, state=ended(5, 9, 0))], [], 1, [(0, 9, "done", "1")],
    ),
    "a completed job has its pod": (
        ENDED, [a_pod(0, scheduled=2, state=ended(5, 9, 0))], [], 2,
        [(0, 2, "waiting"), (2, 5, "starting"), (5, 9, "done")],
    ),
    "a new job has one bar": (NEW, [], [], 0, [(0, None, "Pending")]),
    "a new job has no attempt": (NEW, [], [], 1, []),
    "a job may end in the second of its creation": (
        a_job("Failed", condition("Failed", 0), completionTime=at(0)), [], [], 0,
        [(0, 0, "Pending")],
    ),
    "phases of attempts end with their failures": (
        THIRD, *OF_THIRD, 0,
        [(0, 10, "Pending"), (10, 15, "Restarting"), (15, 18, "Starting"), (18, 30, "Running"),
         (30, 36, "Restarting"), (36, 40, "Starting"), (40, None, "Running")],
    ),
    "attempts end with their failures": (
        THIRD, *OF_THIRD, 1,
        [(0, 10, "ended", "1"), (15, 30, "ended", "2"), (35, None, "current", "3")],
    ),
    "pods of attempts end with their failures": (
        THIRD, *OF_THIRD, 2,
        [(15, 18, "starting"), (18, 30, "broken"),
         (35, 36, "waiting"), (36, 40, "starting"), (40, None, "running")],
    ),
    "attempts without a record are one bar": (
        a_job("Restarting", condition("Restarting", 60), attempt=9, failures=[failure(8, 60)]),
        [], [], 1, [(0, 60, "ended", "1–8")],
    ),
    "a start that is told in whole seconds is not before the node": (
        a_job("Running", attempt=2, failures=[failure(1, 10)]), [],
        [pod_event("0-1", "Started", 3), pod_event("0-1", "Scheduled", 4)], 2, [(3, 10, "broken")],
    ),
    "attempts may end and begin in one second": (
        a_job("Restarting", attempt=3, failures=[failure(1, 10), failure(2, 15)]), [],
        [pod_event("0-1", "Started", 2),
         pod_event("0-2", "Scheduled", 10), pod_event("0-2", "Started", 10)],
        2, [(2, 10, "broken"), (10, 15, "broken")],
    ),
    "a run ends before the next of its name": (
        a_job("Running", attempt=3, failures=[failure(2, 30)]), [],
        [pod_event("0-1", "Started", 3), pod_event("0-2", "Started", 20)], 2,
        [(3, 20, "stopped"), (20, 30, "broken")],
    ),
    "a restart in place shows both runs": (
        RUNS, [a_pod(0, state=running(20), lastState=ended(5, 12, 3))], [], 2,
        [(0, 1, "waiting"), (1, 5, "starting"), (5, 12, "broken"),
         (12, 20, "starting"), (20, None, "running")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("job", "pods", "told", "lane", "drawn"), BARS.values(), ids=BARS)
def test_the_timeline_has_a_bar_for_each_state(job, pods, told, lane, drawn):
    assert bars(job, pods, lane, *told) == drawn


def test_of_thousands_of_pods_those_in_trouble_are_drawn():
    pods = [a_pod(index, state=running(5)) for index in range(1000)]
    pods[700]["status"]["containerStatuses"][0]["state"] = ended(5, 6, 1)
    drawn = draw_timeline(JobPicture(RUNS, tuple(pods)), ())
    assert drawn["more"] == 1000 - MAX_PODS
    assert drawn["lanes"][2]["name"] == "job-worker-700"


@pytest.mark.parametrize(
    "status", [{}, None, {"phase": "New-Word", "worker": {}, "conditions": []}]
)
def test_every_job_has_a_row(status):
    job = a_job("Running")
    job["status"] = status
    assert row_of(job)["phase"] == ((status or {}).get("phase") or "")


def test_a_row_tells_the_first_line_of_why():
    row = row_of(a_job("Pending", condition("Pending", 3, "Unschedulable")))
    assert (row["reason"], row["message"], row["created"]) == ("Unschedulable", "why", T0)


GPUS = {"resources": {"limits": {"nvidia.com/gpu": 8, "cpu": "4"}}}


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        ({"worker": {"replicas": 4, "template": {"spec": {"containers": [GPUS, {}]}}}}, 32),
        ({"worker": {"template": {"spec": {"containers": [GPUS]}}}, "ps": {"replicas": 2}}, 8),
        ({"worker": {"replicas": 0, "template": {"spec": {"containers": [GPUS]}}}}, 0),
        ({"worker": {"replicas": 2, "template": {}}, "ps": None, "heter": {}}, 0),
        ({}, 0),
        (None, 0),
    ],
)
def test_a_row_counts_the_accelerators_of_all_pods(spec, count):
    assert row_of({**a_job("Running"), "spec": spec})["accelerators"] == count


@pytest.mark.parametrize(
    ("progress", "shown"),
    [
        ({"attempt": 1, "step": 3, "totalSteps": 9, "percent": 33}, (3, 9, 33)),
        ({"attempt": 1, "step": 3}, (3, None, None)),
        ({"attempt": 2, "step": 3, "totalSteps": 9, "percent": 33}, (None, None, None)),
        ({}, (None, None, None)),
        (None, (None, None, None)),
    ],
)
def test_a_row_has_the_progress_of_this_attempt(progress, shown):
    row = row_of(a_job("Running", progress=progress))
    assert (row["step"], row["totalSteps"], row["percent"]) == shown


def test_a_row_has_the_error_that_a_message_ends_with():
    record = {**failure(1, 9), "message": "ValueError: no data\nthe last line"}
    failed = condition("Failed", 9, "PodFailed")
    failed["message"] = "job-worker-0 on node exited with code 1: ValueError: no data"
    other = condition("Failed", 9, "BackoffLimitExceeded")

    def cause(told: Raw, *failures: Raw) -> str:
        cut = {"reason": told["reason"], "message": "job-worker-0 on node exited …"}
        return str(row_of(a_job("Failed", told, failures=[*failures], **cut))["cause"])

    causes = [cause(failed, record), cause(other, record), cause(failed)]
    assert causes == ["ValueError: no data", "", ""]


def test_pods_stand_in_order_of_their_numbers():
    names = ["a-worker-10", "a-worker-9", "a-ps-1", "a-worker-x"]
    assert sorted(names, key=pod_order) == ["a-ps-1", "a-worker-x", "a-worker-9", "a-worker-10"]


def test_harmful_characters_are_shown_not_obeyed():
    value = {"a\u202e": ["\x1b[31m", "two\nlines", "\ud800", 1, None], "b": {"c": "中文"}}
    line = encode(value)
    assert line.count(b"\n") == 1
    assert json.loads(line) == {
        "a\\u202e": ["\\x1b[31m", "two\nlines", "\\ud800", 1, None],
        "b": {"c": "中文"},
    }
    assert plain_values("a\r\nb") == "a\\x0d\nb"


def test_the_last_branches_of_the_tree_close_it():
    pods = [a_pod(index, state=running(5)) for index in (0, 1)]
    job = a_job("Running", workers=2, failures=[failure(1, 9)])
    job["status"]["attempt"] = 2
    now = datetime.fromtimestamp(T0 + 60, UTC)
    drawn = draw_job(Facts(JobPicture(job, tuple(pods))), lambda text, *_: text, now, 80)
    assert [line[:5] for line in drawn[1:]] == [
        "├─ wo", "│  ├─", "│  └─", "└─ at", "   ├─", "   └─",
    ]  # fmt: skip
    assert drawn[-1].endswith("2  Running")


def test_the_curve_of_a_job_goes_to_the_page_as_a_tree():
    points = tuple(Point(step, NOW, loss) for step, loss in ((1, 2.5), (2, 0.5)))
    training = Training(NOW, Progress(last_output_time=NOW), points=points)
    name, attributes, title, *_ = _training(training, "en")["curve"]
    assert (name, attributes["role"], title) == ("svg", "img", ["title", {}, "loss 2.5 █▁ 0.5"])
    assert _training(Training(NOW, Progress(last_output_time=NOW)), "en")["curve"] is None
