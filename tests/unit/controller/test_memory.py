"""What is remembered of a job: writes that the store has yet to show, refusals, the last status."""

import pytest

from api.ownership import Key
from controller.cache.store import Store
from controller.client.resources import PADDLE_JOB, POD
from controller.work.memory import (
    AWAIT_SECONDS,
    HANG_PAUSE_SECONDS,
    HANG_SECONDS,
    JobMemory,
)
from reconcile.model.plan import Create, Refusal
from tests.unit.controller.stored import a_job, a_pod, put, remove

JOB, OTHER = Key("ns", "train"), Key("ns", "other")
QUOTA = Refusal("Pod", "train-worker-0", "Forbidden", "exceeded quota", 403)
HANGS = Refusal("Pod", "train-worker-0", "InternalError", "deadline exceeded", 500)


@pytest.fixture
def store() -> Store:
    return Store((PADDLE_JOB, POD))


@pytest.fixture
def memory(store, clock) -> JobMemory:
    return JobMemory(store, clock)


# Own writes


def test_nothing_written_nothing_awaited(memory):
    assert not memory.awaits_writes(JOB)


def test_a_created_pod_is_awaited(memory, store):
    memory.await_written(JOB, POD, a_pod(version=10))
    assert memory.awaits_writes(JOB)
    put(store, POD, a_pod(version=10))
    assert not memory.awaits_writes(JOB)


def test_a_pod_created_and_gone_again_is_not_awaited_for_ever(memory, store):
    memory.await_written(JOB, POD, a_pod(version=10))
    remove(store, POD, a_pod(version=11))
    assert not memory.awaits_writes(JOB)


def test_every_one_of_many_writes_is_awaited(memory, store):
    memory.await_written(JOB, POD, a_pod("b", version=12))
    memory.await_written(JOB, POD, a_pod("a", version=10))
    put(store, POD, a_pod("a", version=10))
    assert memory.awaits_writes(JOB)
    put(store, POD, a_pod("b", version=12))
    assert not memory.awaits_writes(JOB)


def test_kinds_are_awaited_apart(memory, store):
    memory.await_written(JOB, PADDLE_JOB, a_job(version=10))
    put(store, POD, a_pod(version=99))
    assert memory.awaits_writes(JOB)


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


def test_jobs_are_held_back_alone(memory):
    memory.await_written(JOB, POD, a_pod(version=10))
    assert not memory.awaits_writes(OTHER)


def test_a_note_expires(memory, clock):
    memory.await_written(JOB, POD, a_pod(version=10))
    clock.step(AWAIT_SECONDS - 1)
    assert memory.awaits_writes(JOB)
    clock.step(1)
    assert not memory.awaits_writes(JOB)


def test_the_expiry_counts_from_the_newest_write(memory, clock):
    memory.await_written(JOB, POD, a_pod(version=10))
    clock.step(AWAIT_SECONDS - 1)
    memory.await_written(JOB, POD, a_pod(version=11))
    clock.step(2)
    assert memory.awaits_writes(JOB)


# Refused creates


def test_a_refusal_is_remembered(memory):
    assert memory.add_refusals(JOB, "u", (QUOTA,))
    assert memory.refusals(JOB, "u") == (QUOTA,)


def test_a_namesake_starts_clean(memory):
    memory.add_refusals(JOB, "former", (QUOTA,))
    assert memory.refusals(JOB, "present") == ()
    assert memory.pause_seconds(JOB, "present") == 0


def test_the_same_again_is_no_news(memory):
    memory.add_refusals(JOB, "u", (QUOTA,))
    assert not memory.add_refusals(JOB, "u", (QUOTA,))


def test_another_message_is_news(memory):
    memory.add_refusals(JOB, "u", (QUOTA,))
    assert memory.add_refusals(
        JOB, "u", (Refusal(QUOTA.kind, QUOTA.name, "Forbidden", "webhook", 403),)
    )


def test_the_pause_grows_to_half_a_minute(memory, clock):
    pauses = []
    for _ in range(7):
        memory.add_refusals(JOB, "u", (QUOTA,))
        pauses.append(memory.pause_seconds(JOB, "u"))
        clock.step(pauses[-1])
    assert pauses == [10, 20, 30, 30, 30, 30, 30]
    assert memory.pause_seconds(JOB, "u") == 0


def test_many_jobs_that_are_refused_ask_for_ten_creates_a_second(memory, clock):
    jobs = [Key("ns", f"job-{number}") for number in range(1000)]
    for _ in range(5):
        for job in jobs:
            memory.add_refusals(job, "u", (QUOTA,))
        clock.step(100)
    assert memory.pause_seconds(jobs[0], "u") == 0
    memory.add_refusals(jobs[0], "u", (QUOTA,))
    assert memory.pause_seconds(jobs[0], "u") == 100
    for job in jobs[1:]:
        memory.drop_refusals(job, frozenset({(QUOTA.kind, QUOTA.name)}))
    clock.step(100)
    memory.add_refusals(jobs[0], "u", (QUOTA,))
    assert memory.pause_seconds(jobs[0], "u") == 30


def test_jobs_that_are_refused_do_not_lengthen_the_pauses_of_another_namespace(memory, clock):
    for number in range(1000):
        memory.add_refusals(Key("many", f"job-{number}"), "u", (QUOTA,))
    for _ in range(5):
        memory.add_refusals(JOB, "u", (QUOTA,))
        pause = memory.pause_seconds(JOB, "u")
        clock.step(pause)
    assert pause == 30


def test_what_is_only_told_lets_the_job_go_on(memory):
    assert memory.add_refusals(JOB, "u", (QUOTA,), pauses=False)
    assert memory.refusals(JOB, "u") == (QUOTA,)
    assert memory.pause_seconds(JOB, "u") == 0


def test_a_create_that_succeeds_settles_it(memory):
    memory.add_refusals(JOB, "u", (QUOTA,))
    memory.drop_refusals(JOB, frozenset({("Pod", "train-worker-0")}))
    assert memory.refusals(JOB, "u") == ()
    assert memory.pause_seconds(JOB, "u") == 0


def creates(job: Key, kind: str = "Pod") -> tuple[tuple[Create, ...], ...]:
    return ((Create(kind, f"{job.name}-worker-0", dict),),)


def test_where_creates_hang_other_jobs_say_so_once_and_then_try(memory, clock):
    memory.note_hang("ns", HANGS)
    assert memory.join_hang(JOB, "u", creates(JOB))
    assert memory.refusals(JOB, "u") == (HANGS,)
    assert memory.pause_seconds(JOB, "u") == HANG_PAUSE_SECONDS
    clock.step(HANG_PAUSE_SECONDS)
    assert not memory.join_hang(JOB, "u", creates(JOB))
    assert memory.pause_seconds(JOB, "u") == 0


def test_a_job_that_was_refused_something_itself_keeps_its_own_words(memory):
    memory.add_refusals(JOB, "u", (QUOTA,))
    memory.note_hang("ns", HANGS)
    assert not memory.join_hang(JOB, "u", creates(JOB))
    assert memory.refusals(JOB, "u") == (QUOTA,)


def test_a_create_that_succeeds_takes_back_what_was_said_of_others(memory):
    memory.note_hang("ns", HANGS)
    memory.join_hang(JOB, "u", creates(JOB))
    memory.drop_refusals(JOB, frozenset({("Pod", "train-worker-0")}))
    assert memory.refusals(JOB, "u") == ()
    assert memory.pause_seconds(JOB, "u") == 0


def test_creates_that_hang_hold_up_no_other_namespace_and_no_other_kind(memory):
    memory.note_hang("ns", HANGS)
    far = Key("far", "train")
    for job, kind in ((far, "Pod"), (JOB, "Service")):
        assert not memory.join_hang(job, "u", creates(job, kind))
        assert memory.pause_seconds(job, "u") == 0


def test_creates_that_hung_are_forgotten_soon(memory, clock):
    memory.note_hang("ns", HANGS)
    clock.step(HANG_SECONDS)
    assert not memory.join_hang(JOB, "u", creates(JOB))


def test_a_create_of_another_child_settles_nothing(memory):
    memory.add_refusals(JOB, "u", (QUOTA,))
    memory.drop_refusals(JOB, frozenset({("Pod", "train-worker-1")}))
    assert memory.refusals(JOB, "u") == (QUOTA,)


def test_after_a_pause_that_ended_well_the_next_is_short_again(memory, clock):
    for _ in range(3):
        memory.add_refusals(JOB, "u", (QUOTA,))
    memory.drop_refusals(JOB, frozenset({("Pod", "train-worker-0")}))
    memory.add_refusals(JOB, "u", (QUOTA,))
    assert memory.pause_seconds(JOB, "u") == 10


# The whole record


def test_a_status_is_remembered_of_the_job_that_it_was_written_of(memory, clock):
    memory.note_status_written(JOB, "u")
    assert memory.status_written_at(JOB, "u") == clock.now()
    assert memory.status_written_at(JOB, "another") is None
    assert memory.status_written_at(OTHER, "u") is None


def test_a_namesake_inherits_nothing_but_the_writes_under_way(memory):
    memory.await_written(JOB, POD, a_pod(version=10))
    memory.add_refusals(JOB, "former", (QUOTA,))
    memory.note_status_written(JOB, "former")
    memory.note_status_written(JOB, "present")
    assert memory.refusals(JOB, "present") == ()
    assert memory.pause_seconds(JOB, "present") == 0
    assert memory.awaits_writes(JOB)


def test_a_job_that_is_gone_is_forgotten(memory, clock):
    memory.await_written(JOB, POD, a_pod(version=10))
    memory.add_refusals(JOB, "u", (QUOTA,))
    memory.note_status_written(JOB, "u")
    memory.forget(JOB)
    assert not memory.awaits_writes(JOB)
    assert memory.refusals(JOB, "u") == ()
    assert memory.pause_seconds(JOB, "u") == 0
    assert memory.status_written_at(JOB, "u") is None
