"""The witness of a soak speaks up for each thing that must never be, and for nothing else."""

from typing import Any

import pytest

from api.constants import API_VERSION, LABEL_ATTEMPT, LABEL_INDEX, LABEL_ROLE
from tests.soak.witness import Witness, wrong_steps

Raw = dict[str, Any]


def a_job(version: int, phase: str = "Running", uid: str = "job", **status: Any) -> Raw:
    metadata = {"name": "train", "namespace": "a", "uid": uid, "resourceVersion": str(version)}
    status = {"phase": phase, **status}
    return {"kind": "PaddleJob", "metadata": metadata, "spec": {}, "status": status}


def a_pod(version: int, uid: str, attempt: int = 1, index: int = 0, **fields: Any) -> Raw:
    owner = {"apiVersion": API_VERSION, "kind": "PaddleJob", "name": "train", "uid": "job"}
    labels = {LABEL_ROLE: "worker", LABEL_INDEX: str(index), LABEL_ATTEMPT: str(attempt)}
    metadata = {
        "name": f"train-{uid}",
        "namespace": "a",
        "uid": uid,
        "resourceVersion": str(version),
        "labels": labels,
        "ownerReferences": [{**owner, "controller": True}],
    }
    return {"kind": "Pod", "metadata": metadata, "status": {"phase": "Running"}, **fields}


def nobodys(pod: Raw) -> Raw:
    return {**pod, "metadata": {**pod["metadata"], "ownerReferences": []}}


ADDED, CHANGED, GONE = "ADDED", "MODIFIED", "DELETED"
FIRST, SECOND = a_pod(1, "first"), a_pod(3, "second")
ENDED, LATE = a_job(5, "Completed"), a_pod(6, "late")
AGAIN = a_job(3, "Pending", uid="another", attempt=1)
ELASTIC = a_job(1) | {"spec": {"elastic": 1}}
OTHERS = a_pod(2, "new", 2, 1)
SEEN = {
    "two of a place": ([(ADDED, FIRST), (ADDED, SECOND)], "made while train-first lives"),
    "after one that is gone": ([(ADDED, FIRST), (GONE, FIRST), (ADDED, SECOND)], ""),
    "after one that has ended": (
        [(ADDED, FIRST), (CHANGED, a_pod(2, "first", status={"phase": "Failed"})), (ADDED, SECOND)],
        "",
    ),
    "two attempts": ([(ADDED, FIRST), (ADDED, OTHERS)], "2 while train-first of 1 lives"),
    "of an elastic job": ([(ADDED, ELASTIC), (ADDED, FIRST), (ADDED, OTHERS)], ""),
    "nobody's": ([(ADDED, FIRST), (ADDED, nobodys(SECOND))], ""),
    "after the end": ([(CHANGED, ENDED), (ADDED, LATE)], "late was made after its job's end"),
    "told before it": ([(ADDED, LATE), (CHANGED, ENDED)], "late was made after its job's end"),
    "before the end": ([(CHANGED, ENDED), (ADDED, a_pod(4, "early"))], ""),
    "end taken back": ([(ADDED, a_job(1, "Failed")), (CHANGED, a_job(2))], "Failed and is Running"),
    "of one name": ([(ADDED, a_job(1, "Failed")), (GONE, a_job(1)), (ADDED, AGAIN)], ""),
}


@pytest.mark.parametrize(("events", "says"), SEEN.values(), ids=SEEN)
def test_what_must_never_be_is_seen_and_nothing_else(
    events: list[tuple[str, Raw]], says: str
) -> None:
    witness = Witness()
    for type_, obj in events:
        witness.see(type_, obj)
    violations = " ".join(witness.take_violations())
    assert says in violations
    assert bool(violations) == bool(says)


@pytest.mark.parametrize("counter", ["attempt", "restartCount", "failureCount"])
def test_a_counter_that_falls_is_seen(counter: str) -> None:
    assert wrong_steps({counter: 2}, {counter: 1}) == [f"{counter} fell from 2 to 1"]
    assert not wrong_steps({counter: 1}, {counter: 2})


def test_counts_of_an_ended_job_are_frozen() -> None:
    before = {"phase": "Failed", "worker": {"failed": 1, "running": 1}}
    fewer = {"phase": "Failed", "worker": {"failed": 0, "running": 1}}
    gone = {"phase": "Failed", "worker": {"failed": 1, "running": 0}}
    assert wrong_steps(before, fewer) == ["has ended, and the counts of worker went on"]
    assert not wrong_steps(before, gone)


def test_a_violation_is_told_once_but_for_what_is_still_there() -> None:
    witness = Witness()
    witness.see("ADDED", a_pod(1, "first"))
    witness.see("ADDED", a_pod(2, "second"))
    assert witness.take_violations()
    assert not witness.take_violations()


def test_what_went_while_nobody_looked_is_not_taken_for_live() -> None:
    witness = Witness()
    witness.see("ADDED", a_pod(1, "first"))
    witness.see_list("Pod", [a_pod(3, "second")])
    assert not witness.take_violations()
    witness.see_list("Pod", [a_pod(3, "second"), a_pod(4, "third")])
    assert witness.take_violations()
