"""A status that another tool has filled with garbage: the job says so, and nothing else happens."""

from collections.abc import Iterator
from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest

from api.constants import Condition, Reason
from api.objects import Raw
from api.status import status_schema
from reconcile.model.plan import Observed, Plan, Settings
from reconcile.reconcile import reconcile
from tests.memory.builders import a_job, a_pod, at, stamp, status_of

Path = tuple[str | int, ...]
JOB = a_job().with_workers(2).build()
PODS = (a_pod(JOB).running().build(),)
RUNNING = {
    "type": "Running",
    "status": "True",
    "reason": "AllPodsRunning",
    "message": "",
    "lastTransitionTime": stamp(),
    "observedGeneration": 1,
}
FAILURE = {"attempt": 1, "pod": "train-worker-0", "role": "worker", "index": 0, "time": stamp()}
STORED: Raw = {
    "attempt": 2,
    "restartCount": 1,
    "conditions": [RUNNING],
    "failures": [FAILURE],
    "worker": {"running": 1, "completedIndexes": "0"},
    "progress": {"attempt": 2, "step": 3, "metrics": [{"name": "loss", "value": "2.31"}]},
}
GARBAGE: tuple[Any, ...] = ("x", -1, 1.5, 2**31 - 1, 2**63, True, ["x"], [{}], {"x": {}}, None)
ODD_TIMES = ("0000-01-01T00:00:00Z", "2026-01-01T00:00:00", "noon", "9999-12-31T23:59:59Z")


def paths(schema: Raw, above: Path = ()) -> Iterator[Path]:
    """Every field of the status, those of the first element of its lists too."""
    for name, inner in schema.get("properties", {}).items():
        yield (*above, name)
        yield from paths(inner, (*above, name))
        yield from paths(inner.get("items", {}), (*above, name, 0))


def status_with(path: Path, value: Any, phase: str) -> Raw:
    status = deepcopy(STORED) | {"phase": phase}
    inner: Any = status
    for step in path[:-1]:
        inner = inner.setdefault(step, {}) if isinstance(step, str) else inner[step]
    inner[path[-1]] = value
    return status


def plan_of(status: Any, **spec: Any) -> Plan:
    job = {**JOB, "spec": {**JOB["spec"], **spec}, "status": status}
    return reconcile(Observed(job=job, pods=PODS), at(60), Settings())


def told(plan: Plan) -> Raw:
    conditions = (plan.status or {}).get("status", {}).get("conditions") or ()
    return next((dict(each) for each in conditions if each["type"] == Condition.PENDING), {})


@pytest.mark.parametrize("phase", ["Running", "Restarting", "Completed"])
@pytest.mark.parametrize(
    "path", list(paths(status_schema())), ids=lambda path: ".".join(map(str, path))
)
def test_no_garbage_makes_a_pass_fail(path, phase):
    for value in (*GARBAGE, *ODD_TIMES):
        plan = plan_of(status_with(path, value, phase))
        if told(plan).get("reason") == Reason.STATUS_UNREADABLE:
            assert not (plan.creates or plan.deletes or plan.patches)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ("x", "status is 'x', no object"),
        ({"startTime": "noon"}, "status.startTime is 'noon', no time"),
        ({"startTime": ODD_TIMES[1]}, f"status.startTime is '{ODD_TIMES[1]}', a time"),
        ({"attempt": 2**31 - 1}, "status.attempt is '2147483647', out of bounds"),
        ({"worker": {"completedIndexes": "all"}},
         "status.worker.completedIndexes is 'all', not a list of indexes"),
        ({"conditions": [{"type": "Running"}]}, "status.conditions[0].status is missing"),
    ],
)  # fmt: skip
def test_message_names_the_field(status, message):
    condition = told(plan_of(status))
    assert condition["reason"] == Reason.STATUS_UNREADABLE
    assert condition["message"].startswith(message)


def test_other_conditions_and_fields_stay():
    written = status_of(plan_of({**STORED, "phase": "Running", "startTime": "noon"}))
    assert written.keys() == {"conditions", "reason", "message"}
    assert RUNNING in written["conditions"]


def test_it_is_told_once():
    status = {**STORED, "phase": "Running", "startTime": "noon"}
    first = plan_of(status)
    assert [event.reason for event in first.events] == [Reason.STATUS_UNREADABLE]
    job = {**JOB, "status": status | (first.status or {})["status"]}
    later = reconcile(Observed(job=job, pods=PODS), at(60) + timedelta(hours=1), Settings())
    assert later == Plan()


def test_job_goes_on_when_the_field_is_gone():
    status = {**STORED, "phase": "Running", "startTime": "noon"}
    status |= (plan_of(status).status or {})["status"]
    del status["startTime"]
    assert told(plan_of(status)).get("reason") != Reason.STATUS_UNREADABLE


def test_another_controllers_job_is_let_be():
    assert plan_of({"startTime": "noon"}, managedBy="example.com/other") == Plan()
