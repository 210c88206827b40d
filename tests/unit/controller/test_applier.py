"""Plans carried out: what is there afterwards, and what was not touched."""

from collections.abc import Iterator

import pytest

from controller.applier import (
    MAX_BATCH,
    MAX_CREATES_IN_CROWD,
    MAX_CREATES_PER_PASS,
    Applier,
)
from controller.errors import Throttled, Transient
from controller.events import EventRecorder
from controller.expectations import Expectations
from controller.resources import PADDLE_JOB, POD
from controller.store import Family, Key, Store
from reconcile.plan import Create, Delete, EmitEvent, Outcome, Patch, Plan
from tests.unit.controller.builders import a_job, a_pod, manifest, put
from tests.unit.controller.fakes import drop, reply, status
from tests.unit.controller.memory_api import MemoryApi

PODS = "/api/v1/namespaces/ns/pods"
JOB_PATH = "/apis/batch.paddlepaddle.org/v1/namespaces/ns/paddlejobs/train"
KEY = Key("ns", "train")
JOB = a_job()
STATUS = {"status": {"phase": "Pending"}}


class Bench:
    """An applier, the API behind it and the store that its writes have not reached."""

    def __init__(self, client, server, clock, metrics, log) -> None:
        self.api = MemoryApi(server)
        self.job = self.api.put(JOB_PATH, JOB)
        self.store = Store((PADDLE_JOB, POD))
        self.metrics = metrics
        self.expectations = Expectations(self.store, clock)
        self.recorder = EventRecorder(client, clock, metrics, log)
        self.is_crowded = False
        self.applier = Applier(
            client, self.expectations, self.recorder, metrics, lambda: self.is_crowded
        )

    def apply(self, plan: Plan, *pods):
        return self.applier.apply(Family(self.job, {POD: pods} if pods else {}, None), plan)

    def pods(self) -> list[str]:
        return sorted(p.rpartition("/")[2] for p in self.api.objects if p.startswith(PODS))

    def phase(self) -> str | None:
        return (self.api.objects[JOB_PATH].get("status") or {}).get("phase")

    def events(self) -> int:
        return self.recorder._buffer.qsize()


@pytest.fixture
def bench(client, server, clock, metrics, log) -> Iterator[Bench]:
    bench = Bench(client, server, clock, metrics, log)
    yield bench
    bench.applier.close()


def create(*names: str, owner=JOB) -> tuple[Create, ...]:
    return tuple(Create(manifest(name, owner=owner)) for name in names)


def names(count: int) -> list[str]:
    return [f"p{n:04}" for n in range(count)]


def refuse(bench: Bench, step, when=lambda method, path: method == "POST") -> None:
    bench.api.fault = lambda method, path: step if when(method, path) else None


def test_groups_go_out_in_order(bench):
    bench.apply(Plan(creates=(create("a", "b"), create("c"))))
    assert bench.pods() == ["a", "b", "c"]
    bodies = [body["metadata"]["name"] for verb, _, body in bench.api.writes if verb == "POST"]
    assert bodies[-1] == "c"


def test_a_crowd_takes_turns(bench):
    """While others wait, a wide job writes one thing after the other, and not for long."""
    bench.is_crowded = True
    report = bench.apply(Plan(creates=(create(*names(100)),)))
    assert report.is_partial
    assert MAX_CREATES_IN_CROWD <= len(report.created) < 2 * MAX_CREATES_IN_CROWD
    bodies = [body["metadata"]["name"] for verb, _, body in bench.api.writes if verb == "POST"]
    assert bodies == names(len(report.created))
    assert not bench.applier._tools.pool._threads


def test_what_was_created_is_awaited_in_the_store(bench):
    report = bench.apply(Plan(creates=(create("a"),)))
    assert report.created == {("Pod", "a")}
    assert not bench.expectations.is_fulfilled(KEY)


def test_batches_stop_at_the_first_that_fails(bench):
    refuse(bench, reply(403, status(403, "Forbidden", "exceeded quota")))
    report = bench.apply(Plan(creates=(create(*names(100)),)))
    assert len(bench.api.paths("POST")) == 1
    (refusal,) = report.refusals
    assert (refusal.kind, refusal.name, refusal.code) == ("Pod", "p0000", 403)
    assert refusal.message == "exceeded quota"


def test_batches_double_while_they_succeed(bench):
    quota = reply(403, status(403, "Forbidden", "exceeded quota"))
    refuse(bench, quota, lambda method, _: method == "POST" and len(bench.pods()) >= 10)
    bench.apply(Plan(creates=(create(*names(100)),)))
    assert len(bench.pods()) == 10
    assert len(bench.api.paths("POST")) == 1 + 2 + 4 + 8


def test_a_wide_job_is_created_in_passes(bench):
    plan = Plan(creates=(create(*names(MAX_CREATES_PER_PASS + 100)),))
    report = bench.apply(plan)
    assert report.is_partial
    assert MAX_CREATES_PER_PASS <= len(bench.pods()) <= MAX_CREATES_PER_PASS + MAX_BATCH


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
    report = bench.apply(Plan(creates=(create("a"),)))
    assert [r.reason for r in report.refusals] == [reason]
    assert report.error is None


TRANSIENT = {
    "dropped": (drop, Transient),
    "webhook down": (reply(500, status(500, "InternalError", "failed calling webhook")), Transient),
    "throttled": (reply(429, status(429, "TooManyRequests"), Retry_After="7"), Throttled),
}


@pytest.mark.parametrize(("fault", "kind"), TRANSIENT.values(), ids=TRANSIENT.keys())
def test_what_may_work_later_is_an_error_that_names_the_child(bench, fault, kind):
    refuse(bench, fault)
    report = bench.apply(Plan(creates=(create("a"),)))
    assert isinstance(report.error, kind)
    assert report.failed is not None
    assert report.failed.name == "a"
    assert report.refusals == ()


def test_the_status_is_written_even_when_a_child_could_not_be(bench):
    refuse(bench, reply(500, status(500, "InternalError")))
    report = bench.apply(Plan(creates=(create("a"),), status=STATUS))
    assert bench.phase() == "Pending"
    assert report.is_status_written
    assert report.error is not None


def test_a_namespace_that_is_going_gets_nothing_more_and_is_no_error(bench):
    going = status(403, "Forbidden", causes=[{"reason": "NamespaceTerminating"}])
    refuse(bench, reply(403, going))
    report = bench.apply(Plan(creates=(create("a", "b", "c"),)))
    assert len(bench.api.paths("POST")) == 1
    assert (report.error, report.refusals) == (None, ())


# A name that is taken


def test_an_own_pod_that_the_cache_does_not_show_yet_is_a_success(bench):
    bench.api.put(f"{PODS}/a", a_pod("a", JOB))
    report = bench.apply(Plan(creates=(create("a"),)))
    assert report.created == {("Pod", "a")}
    assert not bench.expectations.is_fulfilled(KEY)


def test_a_create_whose_reply_was_lost_is_not_repeated_as_another(bench):
    bench.api.put(f"{PODS}/a", a_pod("a", JOB))
    before = bench.api.objects[f"{PODS}/a"]
    bench.apply(Plan(creates=(create("a"),)))
    assert bench.api.objects[f"{PODS}/a"] is before


STRANGERS = {
    "nobody's": a_pod("a"),
    "a Deployment's": a_pod(
        "a", ownerReferences=[{"kind": "ReplicaSet", "uid": "x", "name": "r", "controller": True}]
    ),
    "another PaddleJob's": a_pod("a", a_job("other", uid="job-2")),
}


@pytest.mark.parametrize("stranger", STRANGERS.values(), ids=STRANGERS.keys())
def test_a_strangers_object_is_left_untouched_and_told(bench, stranger):
    there = bench.api.put(f"{PODS}/a", stranger)
    report = bench.apply(Plan(creates=(create("a"),)))
    assert bench.api.objects[f"{PODS}/a"] is there
    assert [r.reason for r in report.refusals] == ["AlreadyExists"]


def test_a_former_namesakes_pod_is_waited_for(bench):
    bench.api.put(f"{PODS}/a", a_pod("a", a_job(uid="former")))
    report = bench.apply(Plan(creates=(create("a"),)))
    assert report.refusals == ()
    assert isinstance(report.error, Transient)


# Deletes and patches


def test_a_delete_is_awaited_until_the_store_shows_it(bench):
    pod = bench.api.put(f"{PODS}/a", a_pod("a", JOB))
    put(bench.store, POD, pod)
    bench.apply(Plan(deletes=(Delete("Pod", "a", "uid-of-a"),)), pod)
    assert bench.pods() == []
    assert not bench.expectations.is_fulfilled(KEY)


def test_a_delete_spares_another_pod_of_the_same_name(bench):
    seen = a_pod("a", JOB)
    bench.api.put(f"{PODS}/a", a_pod("a", JOB, uid="newer"))
    report = bench.apply(Plan(deletes=(Delete("Pod", "a", "uid-of-a"),)), seen)
    assert bench.pods() == ["a"]
    assert report.error is None


def test_a_delete_of_what_is_gone_is_done(bench):
    report = bench.apply(Plan(deletes=(Delete("Pod", "a", "uid-of-a"),)), a_pod("a", JOB))
    assert report.error is None


def test_many_deletes_all_happen(bench):
    pods = [bench.api.put(f"{PODS}/{name}", a_pod(name, JOB)) for name in names(100)]
    deletes = tuple(Delete("Pod", name, f"uid-of-{name}") for name in names(100))
    bench.apply(Plan(deletes=deletes), *pods)
    assert bench.pods() == []


def test_a_patch_changes_only_the_object_that_was_seen(bench):
    seen = a_pod("a", JOB)
    bench.api.put(f"{PODS}/a", a_pod("a", JOB, uid="newer"))
    report = bench.apply(Plan(patches=(Patch("Pod", "a", "uid-of-a", {"spec": {"x": 1}}),)), seen)
    assert "x" not in bench.api.objects[f"{PODS}/a"]["spec"]
    assert report.error is not None


# A pod that is taken for gone


def test_nothing_is_applied_while_a_pod_taken_for_gone_lives(bench):
    bench.api.put(f"{PODS}/a", a_pod("a", JOB))
    report = bench.apply(Plan(creates=(create("b"),), status=STATUS, verify_gone=("a",)))
    assert isinstance(report.error, Transient)
    assert bench.api.writes == []


def test_a_pod_that_lost_its_label_is_deleted_and_then_gone(bench):
    bench.api.put(f"{PODS}/a", a_pod("a", JOB, labels={}))
    plan = Plan(status=STATUS, verify_gone=("a",))
    assert isinstance(bench.apply(plan).error, Transient)
    assert (bench.pods(), bench.phase()) == ([], None)
    assert bench.apply(plan).error is None
    assert bench.phase() == "Pending"


def test_a_pod_that_lost_its_label_makes_way_for_its_successor(bench):
    bench.api.put(f"{PODS}/a", a_pod("a", JOB, labels={}))
    assert isinstance(bench.apply(Plan(creates=(create("a"),))).error, Transient)
    assert bench.pods() == []


def test_nothing_is_applied_while_it_cannot_be_told(bench):
    bench.api.fault = lambda method, _: drop if method == "GET" else None
    report = bench.apply(Plan(status=STATUS, verify_gone=("a",)))
    assert isinstance(report.error, Transient)
    assert bench.api.writes == []


GONE = {
    "nothing there": None,
    "being deleted": a_pod("a", JOB, deletionTimestamp="2026-01-02T03:04:05Z"),
    "a stranger's": a_pod("a"),
}


@pytest.mark.parametrize("there", GONE.values(), ids=GONE.keys())
def test_a_plan_is_applied_when_the_pod_is_gone_indeed(bench, there):
    if there:
        bench.api.put(f"{PODS}/a", there)
    report = bench.apply(Plan(status=STATUS, verify_gone=("a",)))
    assert report.error is None
    assert bench.phase() == "Pending"


# Status, Events, totals


def test_a_status_goes_to_the_subresource_of_that_very_job(bench):
    bench.apply(Plan(status=STATUS))
    assert bench.api.paths("PATCH") == [f"{JOB_PATH}/status"]
    assert bench.phase() == "Pending"
    assert not bench.expectations.is_fulfilled(KEY)


CHANGED = {"a namesake": a_job(uid="newer"), "another version": JOB}


@pytest.mark.parametrize("there", CHANGED.values(), ids=CHANGED.keys())
def test_a_status_is_written_only_over_the_job_that_was_seen(bench, there):
    bench.api.put(JOB_PATH, there)
    report = bench.apply(Plan(status=STATUS, events=(EmitEvent("Normal", "r", "m"),)))
    assert bench.phase() is None
    assert report.is_outdated
    assert report.error is None
    assert bench.events() == 0


def test_a_status_of_a_job_that_is_gone_is_dropped(bench):
    del bench.api.objects[JOB_PATH]
    report = bench.apply(Plan(status=STATUS))
    assert (report.error, report.is_outdated) == (None, False)


PLAN = Plan(
    status=STATUS,
    events=(EmitEvent("Normal", "Created", "made"),),
    outcomes=(Outcome("created", "PS"),),
)


def test_events_and_totals_follow_a_status_that_was_written(bench):
    bench.apply(PLAN)
    assert bench.events() == 1
    assert 'paddlejob_created_total{mode="PS"} 1.0' in bench.metrics.exposition("")[0].decode()


def test_events_and_totals_wait_for_a_status_that_was_not(bench):
    bench.api.fault = lambda method, _: drop if method == "PATCH" else None
    report = bench.apply(PLAN)
    assert bench.events() == 0
    assert 'paddlejob_created_total{mode="PS"} 0.0' in bench.metrics.exposition("")[0].decode()
    assert report.error is not None


def test_a_job_whose_time_is_over_is_deleted_by_its_uid(bench):
    bench.apply(Plan(delete_job=True))
    assert JOB_PATH not in bench.api.objects
    (options,) = [body for verb, _, body in bench.api.writes if verb == "DELETE"]
    assert options["preconditions"] == {"uid": "job-1"}


def test_a_stop_ends_after_the_batch_under_way(bench):
    bench.applier.stop()
    bench.apply(Plan(creates=(create(*names(50)),)))
    assert bench.pods() == []
