"""Each check of a soak is shown worlds that break its rule, and some that do not."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from reconcile.model.plan import Observed, Settings
from reconcile.reconcile import reconcile
from tests.faults.invariants import wrong_steps
from tests.memory.builders import NOW, a_job, a_pod
from tests.soak import checks
from tests.soak.audit import WriteLog
from tests.soak.checks import Expectation, Listing
from tests.soak.trainings import begins_to_stall, is_of_training, wrong_stall
from tests.soak.witness import Witness

Raw = dict[str, Any]
WELL = {"type": "Completed", "status": "True", "reason": "WorkersSucceeded", "message": "2 ended"}
STALL = {"attempt": 1, "reason": "TrainingStalled"}
KILLED = {"attempt": 1, "reason": "PodFailed"}
TOLD = {"type": "TrainingStalled", "status": "True", "reason": "NoOutput"}
OVER = TOLD | {"status": "False", "reason": "TrainsAgain"}


def job(name: str = "train", uid: str = "job", version: int = 1, **status: Any) -> Raw:
    """A job that has completed, but for these fields of its status."""
    made = a_job(name, uid).with_metadata(namespace="a", generation=2, resourceVersion=str(version))
    status = {"phase": "Completed", "conditions": [WELL], "observedGeneration": 2, **status}
    return made.with_status(**status).build()


def child(
    uid: str = "child", version: int = 1, attempt: int = 1, index: int = 0, **fields: Any
) -> Raw:
    """A running pod of the job, or another child."""
    pod = a_pod(job(), index=index, attempt=attempt).running().build()
    pod["metadata"] |= {"name": f"train-{uid}", "uid": uid, "resourceVersion": str(version)}
    return pod | fields


def changed(**metadata: Any) -> Raw:
    pod = child()
    return {**pod, "metadata": pod["metadata"] | metadata}


def listing(*jobs: Raw, **children: list[Raw]) -> Listing:
    return Listing(list(jobs), {"Pod": [], "Service": [], "ConfigMap": [], **children})


def ends(*, is_touched: bool = False, may_restart: bool = False, **status: Any) -> list[str]:
    return checks.check_ends(job(**status), Expectation("Completed", may_restart, is_touched))


def to_do(job: Raw) -> list[str]:
    return checks.check_nothing_to_do(job, listing(job), NOW, Settings())


def settled() -> Raw:
    """A suspended job whose status says all."""
    job = a_job().with_workers(2).with_spec(suspend=True).build()
    for _ in range(3):
        plan = reconcile(Observed(job=job), NOW, Settings())
        job = {**job, "status": (job.get("status") or {}) | (plan.status or {}).get("status", {})}
    return job


def counts(*pods: Raw, **status: Any) -> list[str]:
    running = job(phase="Running", worker={"running": 1}, **status)
    return checks.check_status(running, listing(running, Pod=[*pods]))


def foreign(*after: Raw) -> list[str]:
    return checks.check_foreign([child()], after)


def stall(name: str, **status: Any) -> list[str]:
    return wrong_stall({**job(name), "status": status})


FREE_END: dict[str, Any] = {"restartCount": 1, "failures": [{"exitCode": 4}]}
CHECKS: dict[str, tuple[Callable[[], list[str]], str]] = {
    "another end": (lambda: ends(phase="Failed"), "is Failed and not Completed"),
    "no reason": (lambda: ends(conditions=[]), "does not say why"),
    "no words": (lambda: ends(conditions=[WELL | {"message": ""}]), "does not say why"),
    "no truth": (lambda: ends(conditions=[WELL | {"status": "False"}]), "does not say why"),
    "a restart": (lambda: ends(restartCount=1), "was restarted, and nothing had happened to it"),
    "other peers": (lambda: ends(failures=[{"exitCode": 99}]), "told other peers than its own"),
    "the end": (ends, ""),
    "a restart after a fault": (lambda: ends(is_touched=True, **FREE_END), ""),
    "a restart by itself": (lambda: ends(may_restart=True, **FREE_END), ""),
    "its pods are counted": (lambda: counts(child()), ""),
    "a pod too few": (counts, "tells of 1 running worker pods, and 0 run"),
    "an older spec": (lambda: counts(child(), observedGeneration=1), "not seen generation 2"),
    "no pods": (lambda: to_do(a_job().with_workers(2).build())[:1], "still to create: ['train-wo"),
    "all is done": (lambda: to_do(settled()), ""),
    "an orphan": (
        lambda: checks.check_orphans(listing(ConfigMap=[child(kind="ConfigMap")])),
        "ConfigMap a/train-child belongs to a job that is gone",
    ),
    "no orphan": (lambda: checks.check_orphans(listing(job(), Pod=[child()])), ""),
    "foreign, gone": (foreign, "was touched"),
    "foreign, changed": (lambda: foreign(child(spec={"nodeName": "other"})), "was touched"),
    "foreign, relabelled": (lambda: foreign(changed(labels={})), "was touched"),
    "foreign, deleted": (lambda: foreign(changed(deletionTimestamp="now")), "was touched"),
    "foreign, moved on": (lambda: foreign(child(version=9, status={"phase": "Pending"})), ""),
    "another's job": (lambda: checks.check_foreign([job()], [job(phase="Failed")]), "was touched"),
    "a write at rest": (lambda: checks.check_rest(["patch a/train"]), "at rest: patch a/train"),
    "rest": (lambda: checks.check_rest([]), ""),
    "an exception": (lambda: checks.check_log("it", "well\nTraceback (most"), "it raised: "),
    "no exception": (lambda: checks.check_log("it", "well"), ""),
    "an unread log": (
        lambda: checks.check_read(job(phase="Running", attempt=2, progress={"attempt": 1})),
        "its log was not read",
    ),
    "a log that is read": (
        lambda: checks.check_read(job(phase="Running", attempt=2, progress={"attempt": 2})),
        "",
    ),
    "a log of the past": (lambda: checks.check_read(job(attempt=2)), ""),
    "a pause that is told": (lambda: stall("pauses-x", conditions=[TOLD]), "only paused"),
    "a pause that is over": (lambda: stall("pauses-x", conditions=[OVER]), "only paused"),
    "a pause that is charged": (lambda: stall("pauses-x", failures=[STALL]), "only paused"),
    "a pause that fails": (lambda: stall("pauses-x", phase="Failed"), "only paused"),
    "a kill": (lambda: stall("pauses-x", failures=[KILLED], failureCount=1), ""),
    "a hang": (lambda: stall("hangs-x-0", failures=[STALL], failureCount=1), ""),
    "a hang twice": (lambda: stall("hangs-x-0", failures=[STALL] * 2), "for it again"),
    "a late hang": (lambda: stall("hangs-x-0", failures=[STALL | {"attempt": 2}]), "for it again"),
    "a hang in secret": (
        lambda: stall("hangs-x-0", failures=[STALL], failureCount=2),
        "was charged 2 times",
    ),
    "another job": (lambda: stall("single-1", failures=[STALL], conditions=[TOLD]), ""),
    **{
        f"a falling {counter}": (
            lambda counter=counter: wrong_steps({counter: 2}, {counter: 1}),
            f"{counter} fell from 2 to 1",
        )
        for counter in ("attempt", "restartCount", "failureCount")
    },
    "a counter": (lambda: wrong_steps({"attempt": 1}, {"attempt": 2}), ""),
    "a count after the end": (lambda: after_the_end(failed=0), "the counts of worker went on"),
    "pods that go after the end": (lambda: after_the_end(running=0), ""),
}


def after_the_end(**worker: int) -> list[str]:
    frozen = {"failed": 1, "running": 1}
    before, after = ({"phase": "Failed", "worker": each} for each in (frozen, frozen | worker))
    return wrong_steps(before, after)


@pytest.mark.parametrize(("check", "says"), CHECKS.values(), ids=CHECKS)
def test_a_rule_that_is_broken_is_seen_and_nothing_else(check, says):
    wrong = check()
    assert len(wrong) == bool(says)
    assert says in "".join(wrong)


def test_only_a_wrong_end_is_beyond_hope():
    assert checks.is_lost(job(phase="Failed"), Expectation("Completed"))
    assert not checks.is_lost(job(), Expectation("Completed"))
    assert not checks.is_lost(job(phase="Restarting"), Expectation("Completed"))


def test_only_a_hang_that_is_told_begins_to_stall():
    assert begins_to_stall(job("hangs-x-0", conditions=[TOLD]))
    assert not begins_to_stall(job("hangs-x-0", conditions=[OVER]))
    assert not begins_to_stall(job("pauses-x", conditions=[TOLD]))


def entry(user: str = "operator", verb: str = "patch", resource: str = "pods", **more: Any) -> str:
    """A line of the audit log."""
    what = {"resource": resource, "namespace": "a", "name": "x"}
    told = {"user": {"username": user}, "verb": verb, "objectRef": what}
    return json.dumps(told | {"responseStatus": {"code": 200}, "stage": "ResponseComplete"} | more)


def test_writes_of_the_account_are_read_once_and_refused_ones_not_counted(tmp_path):
    path = tmp_path / "audit.log"
    others = [entry(user="kubelet"), entry(verb="watch"), entry(resource="leases")]
    path.write_text("\n".join([entry(), *others]) + "\n" + entry()[:20])
    log = WriteLog(path, "operator")
    assert log.take() == ["patch pods a/x: 200"]
    refused = entry(verb="create", responseStatus={"code": 403})
    with path.open("a") as file:
        file.write(f"{entry()[20:]}\n{refused}\n")
    assert log.take() == ["patch pods a/x: 200", "create pods a/x: 403"]
    assert log.totals == {"patch pods": 2}


def test_writes_about_trainings_are_told_from_others():
    assert is_of_training("patch paddlejobs/status soak-a/pauses-saves: 200")
    assert not is_of_training("patch paddlejobs/status soak-a/single-1-0: 200")


ADDED, CHANGED, GONE = "ADDED", "MODIFIED", "DELETED"
FIRST, SECOND = child("first", 1), child("second", 3)
NOBODYS = {**SECOND, "metadata": SECOND["metadata"] | {"ownerReferences": []}}
ENDED, LATE = job(version=5), child("late", 6)
LIVES, FAILED = job(version=2, phase="Running"), job(phase="Failed")
AGAIN = job(uid="another", version=3, phase="Pending", attempt=1)
ELASTIC = LIVES | {"spec": {"elastic": 1}}
OTHERS = child("new", 2, attempt=2, index=1)
SEEN = {
    "two of a place": ([(ADDED, FIRST), (ADDED, SECOND)], "made while train-first lives"),
    "after one that is gone": ([(ADDED, FIRST), (GONE, FIRST), (ADDED, SECOND)], ""),
    "after one that has ended": (
        [(ADDED, FIRST), (CHANGED, FIRST | {"status": {"phase": "Failed"}}), (ADDED, SECOND)],
        "",
    ),
    "two attempts": ([(ADDED, FIRST), (ADDED, OTHERS)], "2 while train-first of 1 lives"),
    "of an elastic job": ([(ADDED, ELASTIC), (ADDED, FIRST), (ADDED, OTHERS)], ""),
    "nobody's": ([(ADDED, FIRST), (ADDED, NOBODYS)], ""),
    "after the end": ([(CHANGED, ENDED), (ADDED, LATE)], "late was made after its job's end"),
    "told before it": ([(ADDED, LATE), (CHANGED, ENDED)], "late was made after its job's end"),
    "before the end": ([(CHANGED, ENDED), (ADDED, child("early", 4))], ""),
    "end taken back": ([(ADDED, FAILED), (CHANGED, LIVES)], "Failed and is Running"),
    "of one name": ([(ADDED, FAILED), (GONE, FAILED), (ADDED, AGAIN)], ""),
}


@pytest.mark.parametrize(("events", "says"), SEEN.values(), ids=SEEN)
def test_the_witness_sees_what_must_never_be_and_nothing_else(events, says):
    witness = Witness()
    for type_, obj in events:
        witness.see(type_, obj)
    violations = " ".join(witness.take_violations())
    assert says in violations
    assert bool(violations) == bool(says)
    if says and "end" not in says:  # a pod that is still there is a violation each time
        assert not witness.take_violations()


def test_what_went_while_nobody_looked_is_not_taken_for_live():
    witness = Witness()
    witness.see(ADDED, FIRST)
    witness.see_list("Pod", [SECOND])
    assert not witness.take_violations()
    witness.see_list("Pod", [SECOND, child("third", 4)])
    assert witness.take_violations()
