"""Plans carried out: what is there afterwards, and what was not touched."""

import threading
from collections.abc import Iterator
from functools import partial

import pytest

from api.constants import GROUP
from api.objects import uid_of
from api.ownership import Key, Owner
from controller.cache.store import Family
from controller.client.resources import POD
from controller.work.applier import BACKLOGGED_CREATES, MAX_BATCH, MAX_CREATES
from kube.errors import Throttled, Transient
from reconcile.model.plan import (
    Create,
    Delete,
    EmitEvent,
    ObjectReference,
    Outcome,
    Patch,
    Plan,
    deletes_of,
)
from tests.live import patience
from tests.unit.controller.fakes import drop, reply, status
from tests.unit.controller.memory_api import Writes
from tests.unit.controller.stored import a_job, a_pod, creation, manifest, owner_reference, put

PODS = "/api/v1/namespaces/ns/pods"
JOB_PATH = "/apis/batch.paddlepaddle.org/v1/namespaces/ns/paddlejobs/train"
KEY = Key("ns", "train")
JOB = a_job()
STATUS = {"status": {"phase": "Pending"}}
QUOTA = reply(403, status(403, "Forbidden", "exceeded quota"))


class Bench(Writes):
    """An applier and a job; others wait for a worker while there are so many pods."""

    def __init__(self, *parts) -> None:
        super().__init__(*parts)
        self.job = self.api.put(JOB_PATH, JOB)
        self.backlogged_at = range(0)

    def is_backlogged(self, _namespace: str) -> bool:
        return len(self.pods()) in self.backlogged_at

    def apply(self, plan: Plan, *pods):
        family = Family(self.job, {POD: pods} if pods else {}, None)
        owner = Owner(KEY, uid_of(self.job))
        return self.applier.apply(owner, family, plan)

    def pods(self) -> list[str]:
        return sorted(p.rpartition("/")[2] for p in self.api.objects if p.startswith(PODS))

    def phase(self) -> str | None:
        return (self.api.objects.get(JOB_PATH, {}).get("status") or {}).get("phase")

    def events(self) -> list[str]:
        """Reasons of the Events that are there once the recorder has sent what it was given."""
        self.recorder.stop()
        self.recorder.run()
        return [obj["reason"] for path, obj in self.api.objects.items() if "/events/" in path]


@pytest.fixture
def bench(client, server, clock, metrics, log) -> Iterator[Bench]:
    bench = Bench(client, server, clock, metrics, log)
    yield bench
    bench.applier.close()


def create(*names: str, owner=JOB) -> tuple[Create, ...]:
    return tuple(creation(name, owner) for name in names)


def pod_reference(name: str, uid: str) -> ObjectReference:
    return ObjectReference("v1", "Pod", name, uid)


def names(count: int) -> list[str]:
    return [f"p{n:04}" for n in range(count)]


def refuse(bench: Bench, step, when=lambda method, path: method == "POST") -> None:
    bench.api.fault = lambda method, path: step if when(method, path) else None


@pytest.mark.parametrize(("start", "stop"), [(0, 200), (0, 16), (8, 200), (8, 16), (100, 200)])
def test_a_wide_job_stops_once_others_wait(bench, start, stop):
    """Whether they waited already, or came while its pass wrote; also if nobody waits any more."""
    bench.backlogged_at = range(start, stop)
    result = bench.apply(Plan(creates=(create(*names(200)),)))
    assert result.is_partial
    most = max(BACKLOGGED_CREATES, start + MAX_BATCH)
    assert BACKLOGGED_CREATES <= len(result.created) <= most
    assert bench.pods() == names(len(result.created))


def test_a_batch_goes_out_in_parallel(bench):
    """Two creates each wait for the other."""
    meeting = threading.Barrier(2)

    def build(name: str):
        if name != "a":
            meeting.wait(patience.SECONDS)
        return manifest(name)

    group = tuple(Create("Pod", name, partial(build, name)) for name in "abc")
    result = bench.apply(Plan(creates=(group,)))
    assert result.created == {("Pod", name) for name in "abc"}
    assert bench.memory.awaits_writes(KEY)


def test_a_worker_writes_alone_while_others_wait(bench):
    """Handing a write to a helper costs CPU, and all workers are busy then."""
    bench.backlogged_at, threads = range(200), set()

    def build(name: str):
        threads.add(threading.current_thread())
        return manifest(name)

    group = tuple(Create("Pod", name, partial(build, name)) for name in "abcdefg")
    assert len(bench.apply(Plan(creates=(group,))).created) == len(group)
    assert threads == {threading.current_thread()}


def test_batches_stop_at_the_first_that_fails_and_no_further_manifest_is_built(bench):
    refuse(bench, QUOTA)
    unbuilt = Create("Pod", "b", lambda: pytest.fail("it was built"))
    (refusal,) = bench.apply(Plan(creates=((*create("a"), unbuilt),))).refusals
    assert len(bench.api.paths("POST")) == 1
    assert (refusal.kind, refusal.name, refusal.code) == ("Pod", "a", 403)
    assert refusal.message == "exceeded quota"


def test_batches_double_while_they_succeed(bench):
    refuse(bench, QUOTA, lambda method, _: method == "POST" and len(bench.pods()) >= 10)
    bench.apply(Plan(creates=(create(*names(100)),)))
    assert len(bench.pods()) == 10
    assert len(bench.api.paths("POST")) == 1 + 2 + 4 + 8


def test_a_wide_job_is_created_in_passes(bench):
    result = bench.apply(Plan(creates=(create(*names(MAX_CREATES + 100)), create("next"))))
    assert result.is_partial
    assert bench.pods() == names(MAX_CREATES), "groups go out in order"


INVALID = [
    (403, "Forbidden"),
    (422, "Invalid"),
    (400, "BadRequest"),
    (404, "NotFound"),
    (413, "RequestEntityTooLarge"),
]


@pytest.mark.parametrize(("code", "reason"), INVALID)
def test_what_the_server_refuses_is_told_and_not_an_error(bench, code, reason):
    refuse(bench, reply(code, status(code, reason, "no")))
    result = bench.apply(Plan(creates=(create("a"),)))
    assert [r.reason for r in result.refusals] == [reason]
    assert not result.errors


TRANSIENT = {
    "dropped": (drop, Transient),
    "webhook down": (reply(500, status(500, "InternalError", "failed calling webhook")), Transient),
    "throttled": (reply(429, status(429, "TooManyRequests"), Retry_After="7"), Throttled),
}


@pytest.mark.parametrize(("fault", "kind"), TRANSIENT.values(), ids=TRANSIENT.keys())
def test_what_may_work_later_is_an_error_that_names_the_child(bench, fault, kind):
    refuse(bench, fault)
    result = bench.apply(Plan(creates=(create("a"),), status=STATUS))
    assert isinstance(result.errors[0], kind)
    assert result.failed is not None
    assert result.failed.name == "a"
    assert result.refusals == []
    assert bench.phase() == "Pending", "the status is written all the same"


def test_a_namespace_that_is_going_gets_nothing_more_and_is_no_error(bench):
    going = status(403, "Forbidden", causes=[{"reason": "NamespaceTerminating"}])
    refuse(bench, reply(403, going))
    result = bench.apply(Plan(creates=(create("a", "b", "c"),)))
    assert len(bench.api.paths("POST")) == 1
    assert (result.errors, result.refusals) == ([], [])


# A name that is taken


def test_an_own_pod_that_the_cache_does_not_show_yet_is_a_success(bench):
    there = bench.api.put(f"{PODS}/a", a_pod("a", JOB))
    result = bench.apply(Plan(creates=(create("a"),)))
    assert result.created == {("Pod", "a")}
    assert bench.memory.awaits_writes(KEY)
    assert bench.api.objects[f"{PODS}/a"] is there


STRANGERS = {
    "nobody's": a_pod("a"),
    "a Deployment's": a_pod(
        "a", ownerReferences=[{"kind": "ReplicaSet", "uid": "x", "name": "r", "controller": True}]
    ),
    "another PaddleJob's": a_pod("a", a_job("other", uid="job-2")),
    "forged with another name": a_pod("a", ownerReferences=[owner_reference(JOB, name="other")]),
    "forged with another version": a_pod(
        "a", ownerReferences=[owner_reference(JOB, apiVersion="batch.paddlepaddle.org/v2")]
    ),
}


@pytest.mark.parametrize("stranger", STRANGERS.values(), ids=STRANGERS.keys())
def test_a_strangers_object_is_left_untouched_and_told(bench, stranger):
    there = bench.api.put(f"{PODS}/a", stranger)
    result = bench.apply(Plan(creates=(create("a"),)))
    assert bench.api.objects[f"{PODS}/a"] is there
    assert [r.reason for r in result.refusals] == ["AlreadyExists"]


# Deletes and patches


def test_a_delete_is_awaited_until_the_store_shows_it(bench):
    pod = bench.api.put(f"{PODS}/a", a_pod("a", JOB))
    put(bench.store, POD, pod)
    bench.apply(Plan(deletes=(Delete(pod_reference("a", "uid-of-a")),)), pod)
    assert bench.pods() == []
    assert bench.memory.awaits_writes(KEY)


@pytest.mark.parametrize("there", [["a"], []], ids=["another", "none"])
def test_a_delete_spares_another_pod_of_the_same_name_and_is_done(bench, there):
    for name in there:
        bench.api.put(f"{PODS}/{name}", a_pod(name, JOB, uid="newer"))
    result = bench.apply(Plan(deletes=(Delete(pod_reference("a", "uid-of-a")),)), a_pod("a", JOB))
    assert bench.pods() == there
    assert not result.errors


def test_a_delete_of_what_is_gone_is_awaited_too(bench):
    """A watch that is minutes behind shows a job whose time is over; each pass would delete it."""
    put(bench.store, POD, a_pod("a", JOB))
    bench.apply(Plan(deletes=(Delete(pod_reference("a", "uid-of-a")),)), a_pod("a", JOB))
    assert bench.memory.awaits_writes(KEY)
    bench.store.replace(POD, [], "2")
    assert not bench.memory.awaits_writes(KEY)


def test_many_deletes_all_happen(bench):
    pods = [bench.api.put(f"{PODS}/{name}", a_pod(name, JOB)) for name in names(100)]
    deletes = tuple(Delete(pod_reference(name, f"uid-of-{name}")) for name in names(100))
    bench.apply(Plan(deletes=deletes), *pods)
    assert bench.pods() == []


def test_a_patch_changes_only_the_object_that_was_seen(bench):
    seen = a_pod("a", JOB)
    bench.api.put(f"{PODS}/a", a_pod("a", JOB, uid="newer"))
    result = bench.apply(
        Plan(patches=(Patch(pod_reference("a", "uid-of-a"), {"spec": {"x": 1}}),)), seen
    )
    assert "x" not in bench.api.objects[f"{PODS}/a"]["spec"]
    assert result.errors


def test_a_patch_that_fails_keeps_nothing_from_being_created(bench):
    """Kueue's webhook is away; a running gang restarts all the same."""
    seen = bench.api.put(f"{PODS}/a", a_pod("a", JOB))
    refuse(bench, reply(500, status(500, "InternalError", "no")), lambda verb, _: verb == "PATCH")
    patch = Patch(pod_reference("a", uid_of(seen)), {"spec": {"x": 1}})
    result = bench.apply(Plan(patches=(patch,), creates=(create("b"),)), seen)
    assert bench.pods() == ["a", "b"]
    assert result.errors


# A pod that is taken for gone


@pytest.mark.parametrize("answer", [None, drop], ids=["lives", "cannot be told"])
def test_nothing_is_applied_while_a_pod_taken_for_gone_may_live(bench, answer):
    bench.api.put(f"{PODS}/a", a_pod("a", JOB))
    bench.api.fault = lambda method, _: answer if method == "GET" else None
    result = bench.apply(Plan(creates=(create("b"),), status=STATUS, verify_gone=("a",)))
    assert isinstance(result.errors[0], Transient)
    assert bench.api.writes == []


@pytest.mark.parametrize(
    "plan",
    [Plan(status=STATUS, verify_gone=("a",)), Plan(creates=(create("a"),))],
    ids=["taken for gone", "to be made"],
)
def test_a_pod_that_lost_its_label_is_deleted_and_then_gone(bench, plan):
    bench.api.put(f"{PODS}/a", {"apiVersion": "v1", "kind": "Pod"} | a_pod("a", JOB, labels={}))
    assert isinstance(bench.apply(plan).errors[0], Transient)
    assert (bench.pods(), bench.phase()) == ([], None)
    assert not bench.apply(plan).errors


GONE = {
    "nothing there": None,
    "being deleted": a_pod("a", JOB, deletionTimestamp="2026-01-02T03:04:05Z"),
    "a stranger's": a_pod("a"),
}


@pytest.mark.parametrize("there", GONE.values(), ids=GONE.keys())
def test_a_plan_is_applied_when_the_pod_is_gone_indeed(bench, there):
    if there:
        bench.api.put(f"{PODS}/a", there)
    result = bench.apply(Plan(status=STATUS, verify_gone=("a",)))
    assert not result.errors
    assert bench.phase() == "Pending"


# Status, Events, totals


CHANGED = {"a namesake": a_job(uid="newer"), "another version": JOB, "gone": None}


@pytest.mark.parametrize("there", CHANGED.values(), ids=CHANGED.keys())
def test_a_status_is_written_only_over_the_job_that_was_seen(bench, there):
    bench.api.put(JOB_PATH, there) if there else bench.api.remove(JOB_PATH)
    result = bench.apply(Plan(status=STATUS, events=(EmitEvent("Normal", "r", "m"),)))
    assert bench.phase() is None
    assert result.is_outdated
    assert not result.errors
    assert bench.events() == []


PLAN = Plan(
    status=STATUS,
    events=(EmitEvent("Normal", "Created", "made"),),
    outcomes=(Outcome("created", "PS"),),
)


@pytest.mark.parametrize("is_written", [True, False])
def test_events_and_totals_follow_a_status_that_was_written(bench, is_written):
    bench.api.fault = lambda method, _: drop if method == "PATCH" and not is_written else None
    result = bench.apply(PLAN)
    assert bench.events() == ["Created"] * is_written
    assert bench.api.paths("PATCH")[0] == f"{JOB_PATH}/status"
    assert (bench.phase() == "Pending", bench.memory.awaits_writes(KEY)) == (is_written,) * 2
    created = f'paddlejob_created_total{{mode="PS"}} {float(is_written)}'
    assert created in bench.metrics.exposition("")[0].decode()
    assert bool(result.errors) != is_written


def test_a_job_whose_time_is_over_is_deleted_by_its_uid(bench):
    bench.apply(Plan(deletes=deletes_of([bench.job])))
    assert JOB_PATH not in bench.api.objects
    (options,) = [body for verb, _, body in bench.api.writes if verb == "DELETE"]
    assert options["preconditions"] == {"uid": "job-1"}


def test_a_stop_ends_after_the_batch_under_way(bench):
    bench.applier.stop()
    bench.apply(Plan(creates=(create(*names(50)),)))
    assert bench.pods() == []


def test_a_delete_that_is_refused_is_told_until_it_is_done(bench):
    bench.api.put(f"{PODS}/a", {"metadata": {"uid": "u1"}})
    plan = Plan(deletes=(Delete(pod_reference("a", "u1")),), creates=(create("b"),))
    refuse(bench, reply(403, status(403, "Forbidden", "pods stay")), lambda verb, _: verb != "GET")
    result = bench.apply(plan)
    assert [(r.name, r.message, r.is_delete) for r in result.refusals] == [("a", "pods stay", True)]
    assert bench.api.paths("POST") == []
    refuse(bench, reply(500, status(500, "InternalError", "no webhook")), lambda *_: True)
    result = bench.apply(plan)
    assert (result.failed is not None and result.failed.is_delete, len(result.errors)) == (True, 1)
    bench.api.fault = lambda *_: None
    assert bench.apply(plan).deleted == {("Pod", "a")}


@pytest.mark.parametrize(
    ("metadata", "says"),
    [
        ({"name": "other"}, "its name to other"),
        ({"ownerReferences": []}, "its owner"),
        ({"labels": {f"{GROUP}/index": "7"}}, f"its label {GROUP}/index to '7'"),
        ({"labels": {}}, f"its label {GROUP}/index to None"),
    ],
    ids=["name", "owner", "label", "no-label"],
)
def test_a_child_that_admission_has_changed_is_refused_and_goes_again(bench, metadata, says):
    made = manifest("a", owner=bench.job)
    made["metadata"] |= {"namespace": "ns", "labels": {f"{GROUP}/index": "1", "mine": "x"}}
    stored = {"uid": "u1", "resourceVersion": "7", **metadata}
    changed = {**made, "metadata": {**made["metadata"], **stored}}
    bench.api.fault = lambda method, _path: reply(201, changed) if method == "POST" else None
    result = bench.apply(Plan(creates=((Create("Pod", "a", lambda: made),),)))
    assert [refusal.message for refusal in result.refusals] == [f"admission changed {says}"]
    (deleted,) = bench.api.paths("DELETE")
    assert deleted == f"{PODS}/{metadata.get('name', 'a')}"
