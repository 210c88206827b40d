"""What is remembered of a job: writes that the store has yet to show, refusals, the last status."""

from dataclasses import replace

import pytest

from api.ownership import Key
from controller.cache.store import Store
from controller.client.resources import PADDLE_JOB, POD
from controller.work.memory import AWAIT_SECONDS, JobMemory, Lesson
from controller.work.result import PERSISTENT_SECONDS, SLOW_SECONDS, Result
from kube.errors import Throttled, Transient, Unreachable
from reconcile.model.plan import Plan, Refusal, Wait
from tests.unit.controller.stored import a_pod, put, remove

JOB, OTHER = Key("ns", "train"), Key("ns", "other")
QUOTA = Refusal("Pod", "train-worker-0", "Forbidden", "exceeded quota", 403)
HANGS = Refusal("Pod", "train-worker-0", "InternalError", "deadline exceeded", 500)
HANGS_TOO = replace(HANGS, name="train-worker-1")


@pytest.fixture
def store() -> Store:
    return Store((PADDLE_JOB, POD))


@pytest.fixture
def memory(store, clock) -> JobMemory:
    return JobMemory(store, clock)


# Own writes


@pytest.mark.parametrize(("arrive", "version"), [(put, 10), (remove, 11)], ids=["made", "gone"])
def test_a_created_pod_is_awaited(memory, store, arrive, version):
    memory.await_written(JOB, POD, a_pod(version=10))
    assert memory.awaits_writes(JOB)
    assert not memory.awaits_writes(OTHER)
    arrive(store, POD, a_pod(version=version))
    assert not memory.awaits_writes(JOB)


def test_it_knows_who_awaits_writes_of_a_kind(memory, store):
    memory.await_written(JOB, POD, a_pod("a", version=8))
    memory.await_written(JOB, POD, a_pod(version=10))
    memory.await_deleted(OTHER, POD, "a", "uid")
    assert memory.awaiting(POD) == [JOB, OTHER]
    assert memory.awaiting(PADDLE_JOB) == []
    put(store, POD, a_pod("a", version=8))
    assert memory.awaits_writes(JOB), "every one of many"
    put(store, POD, a_pod(version=10))
    assert not memory.awaits_writes(JOB)
    assert memory.awaiting(POD) == [OTHER]


@pytest.mark.parametrize(
    "arrival",
    [
        lambda s, p: remove(s, POD, p),
        lambda s, p: put(s, POD, a_pod("p", deletionTimestamp="2026-01-02T03:04:05Z")),
        lambda s, p: put(s, POD, a_pod("p", uid="another")),
    ],
    ids=["gone", "marked", "another in its place"],
)
def test_a_deletion_is_awaited(memory, store, arrival):
    pod = a_pod("p")
    put(store, POD, pod)
    memory.await_deleted(JOB, POD, "p", "uid-of-p")
    assert memory.awaits_writes(JOB)
    arrival(store, pod)
    assert not memory.awaits_writes(JOB)


def test_a_note_expires_and_that_counts_from_the_newest_write(memory, clock):
    for version in (10, 11):
        memory.await_written(JOB, POD, a_pod(version=version))
        clock.step(AWAIT_SECONDS - 1)
        assert memory.awaits_writes(JOB)
    clock.step(1)
    assert not memory.awaits_writes(JOB)


# Refusals


def learn(memory, job=JOB, uid="u", plan=None, **result) -> Lesson:
    """What a pass has taught that met this."""
    return memory.learn(job, uid, plan or Plan(), Result(**result))


def refuse(memory, *refusals: Refusal, job=JOB, uid="u", plan=None) -> Lesson:
    return learn(memory, job, uid, plan, refusals=list(refusals))


def refused(memory, uid="u", job=JOB) -> tuple[Refusal, ...]:
    return memory.facts(job, uid).refusals


def test_a_refusal_is_remembered_and_reported(memory):
    assert refuse(memory, QUOTA) == Lesson(is_new=True, is_reported=True)
    assert refuse(memory, QUOTA) == Lesson(is_new=False, is_reported=True)
    assert refused(memory) == (QUOTA,)
    learn(memory, created={HANGS_TOO.child})
    assert refused(memory) == (QUOTA,), "a create of another child settles nothing"
    assert refuse(memory, replace(QUOTA, message="webhook")).is_new
    memory.await_written(JOB, POD, a_pod(version=10))
    assert not refuse(memory, QUOTA).is_reported


def test_refusals_in_a_row_are_counted_and_dated(memory, clock):
    for times in (1, 2, 3):
        refuse(memory, QUOTA)
        clock.step(7)
        facts = memory.facts(JOB, "u")
        assert (facts.refused_times, facts.refused_seconds) == (times, 7)


def test_a_wait_counts_from_the_decision_like_the_time_of_the_next_pass(memory):
    learn(memory, plan=Plan(waits=frozenset({Wait.HEAD_START})), seconds=0.25)
    assert memory.facts(JOB, "u").waited == {Wait.HEAD_START: 0.25}


def test_a_delete_that_is_refused_in_a_pause_makes_it_no_longer_and_says_nothing_new(memory, clock):
    refuse(memory, QUOTA)
    clock.step(5)
    again = replace(QUOTA, message="in other words")
    assert not refuse(memory, again, plan=Plan(is_paused=True)).is_reported
    facts = memory.facts(JOB, "u")
    assert (facts.refusals, facts.refused_times, facts.refused_seconds) == ((QUOTA,), 1, 5)


def test_jobs_of_a_namespace_that_have_refusals_are_counted(memory):
    for number in range(3):
        refuse(memory, QUOTA, job=Key("ns", f"job-{number}"))
    refuse(memory, QUOTA, job=Key("far", "job"))
    learn(memory, Key("ns", "job-1"), created={QUOTA.child})
    memory.forget(Key("ns", "job-2"))
    assert memory.facts(JOB, "u").paused_in_namespace == 1


@pytest.mark.parametrize(
    ("error", "times"),
    [
        pytest.param(Throttled("slowly", code=429, retry_after=1), 0, id="says-when"),
        pytest.param(Transient("no answer"), 0, id="no-answer"),
        pytest.param(Transient("broken", code=500), 1, id="answer"),
    ],
)
@pytest.mark.parametrize("seconds", [0.0, PERSISTENT_SECONDS], ids=["again", "long-in-coming"])
def test_an_error_that_lasts_is_a_refusal_where_the_server_gave_it(
    memory, clock, error, times, seconds
):
    if not seconds:
        assert learn(memory, errors=[error], failed=HANGS) == Lesson()
        clock.step(PERSISTENT_SECONDS)
    assert learn(memory, errors=[error], failed=HANGS, seconds=seconds).is_reported
    assert memory.facts(JOB, "u").refused_times == times
    assert refused(memory) == (HANGS,)


def test_errors_between_which_writes_went_well_are_none(memory, clock):
    for _ in range(3):
        learn(memory, errors=[Transient("broken", code=500)], failed=HANGS)
        clock.step(PERSISTENT_SECONDS - 1)
        learn(memory)
    assert refused(memory) == ()


def test_what_was_created_or_matters_no_more_is_forgotten(memory):
    stays = replace(QUOTA, name="train-worker-2", is_delete=True)
    refuse(memory, QUOTA, HANGS_TOO, stays)
    learn(memory, created={QUOTA.child}, deleted={stays.child})
    assert refused(memory) == (HANGS_TOO,)
    learn(memory, plan=Plan(moot=frozenset({HANGS_TOO.child})))
    facts = memory.facts(JOB, "u")
    assert (facts.refusals, facts.refused_times) == ((), 0)


def test_what_a_job_assumes_is_no_refusal_of_its_own(memory, clock):
    assert not learn(memory, plan=Plan(assumed=(HANGS,))).is_reported
    clock.step(2)
    facts = memory.facts(JOB, "u")
    assert (facts.refusals, facts.refused_times, facts.refused_seconds) == ((HANGS,), 0, 2)


SLOW = {"errors": [Transient("deadline exceeded", code=500)], "failed": HANGS, "seconds": 10.0}


def test_a_create_that_took_long_to_fail_is_a_fact_of_its_namespace(memory, clock):
    learn(memory, **SLOW)
    clock.step(3)
    facts = memory.facts(OTHER, "u")
    assert (facts.slow_create, facts.slow_seconds) == (HANGS, 3)
    assert memory.facts(Key("far", "train"), "u").slow_create is None


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"seconds": SLOW_SECONDS - 1}, id="quick"),
        pytest.param({"created": {("Pod", "a")}}, id="another-was-created"),
        pytest.param({"failed": replace(HANGS, is_delete=True)}, id="delete"),
        pytest.param({"errors": [Unreachable("nobody")]}, id="nobody-answered"),
        pytest.param({"errors": [Throttled("slowly", code=429, retry_after=None)]}, id="throttled"),
    ],
)
def test_what_takes_long_for_another_reason_is_none(memory, fields):
    learn(memory, **SLOW | fields)
    assert memory.facts(OTHER, "u").slow_create is None


# The whole record


def test_a_status_is_remembered_of_the_job_that_it_was_written_of(memory, clock):
    memory.note_status_written(JOB, "u")
    assert memory.facts(JOB, "u").status_written_at == clock.now()
    assert memory.facts(JOB, "another").status_written_at is None
    assert memory.facts(OTHER, "u").status_written_at is None


def test_a_namesake_inherits_nothing_but_the_writes_under_way(memory):
    memory.await_written(JOB, POD, a_pod(version=10))
    refuse(memory, QUOTA, uid="former")
    memory.note_status_written(JOB, "former")
    memory.note_status_written(JOB, "present")
    facts = memory.facts(JOB, "present")
    assert (facts.refusals, facts.refused_times) == ((), 0)
    assert memory.awaits_writes(JOB)


def test_a_job_that_is_gone_is_forgotten(memory, clock):
    memory.await_written(JOB, POD, a_pod(version=10))
    refuse(memory, QUOTA)
    memory.note_status_written(JOB, "u")
    memory.forget(JOB)
    assert not memory.awaits_writes(JOB)
    facts = memory.facts(JOB, "u")
    assert (facts.refusals, facts.status_written_at) == ((), None)
