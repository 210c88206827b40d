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


def witnessed(*events: tuple[str, Raw]) -> str:
    witness = Witness()
    for type_, obj in events:
        witness.see(type_, obj)
    return " ".join(witness.take_violations())


def test_a_second_live_pod_of_a_place_is_seen() -> None:
    first, second = a_pod(1, "first"), a_pod(2, "second")
    assert "made while train-first lives" in witnessed(("ADDED", first), ("ADDED", second))


def test_a_pod_after_one_that_is_gone_or_has_ended_is_well() -> None:
    first, second = a_pod(1, "first"), a_pod(3, "second", 2)
    ended = a_pod(2, "first", status={"phase": "Failed"})
    assert not witnessed(("ADDED", first), ("DELETED", first), ("ADDED", second))
    assert not witnessed(("ADDED", first), ("MODIFIED", ended), ("ADDED", second))


def test_two_attempts_at_once_are_seen() -> None:
    old, new = a_pod(1, "old", 1, 0), a_pod(2, "new", 2, 1)
    assert "for attempt 2 while train-old of 1 lives" in witnessed(("ADDED", old), ("ADDED", new))


def test_attempts_of_an_elastic_job_may_meet() -> None:
    job = a_job(1) | {"spec": {"elastic": 1}}
    old, new = a_pod(2, "old", 1, 0), a_pod(3, "new", 2, 1)
    assert not witnessed(("ADDED", job), ("ADDED", old), ("ADDED", new))


def test_a_pod_that_is_nobodys_is_none_of_its_business() -> None:
    nobodys = a_pod(2, "nobodys")
    nobodys["metadata"]["ownerReferences"] = []
    assert not witnessed(("ADDED", a_pod(1, "first")), ("ADDED", nobodys))


@pytest.mark.parametrize("is_job_first", [True, False])
def test_a_pod_made_after_the_end_is_seen_whichever_watch_is_first(is_job_first: bool) -> None:
    job, pod = ("MODIFIED", a_job(5, "Completed")), ("ADDED", a_pod(6, "late"))
    events = (job, pod) if is_job_first else (pod, job)
    assert "train-late was made after its job's end" in witnessed(*events)


def test_a_pod_made_before_the_end_is_well() -> None:
    assert not witnessed(("MODIFIED", a_job(5, "Completed")), ("ADDED", a_pod(4, "early")))


def test_an_end_that_is_taken_back_is_seen() -> None:
    wrong = witnessed(("ADDED", a_job(1, "Completed")), ("MODIFIED", a_job(2, "Running")))
    assert "was Completed and is Running" in wrong


def test_a_job_of_the_same_name_begins_anew() -> None:
    old, new = a_job(1, "Failed", attempt=3), a_job(3, "Pending", uid="another", attempt=1)
    assert not witnessed(("ADDED", old), ("DELETED", old), ("ADDED", new))


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
