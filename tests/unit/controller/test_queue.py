"""The work queue's promises, a property a test."""

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from api.ownership import Key
from controller.workqueue.queue import (
    BACKLOG_LASTS_SECONDS,
    BACKLOG_SECONDS,
    MAX_REST_SECONDS,
    Filing,
    WorkQueue,
)
from kube.clock import Clock
from tests.unit.controller.fakes import SteppedClock, an_open_queue, eventually, nothing_kept_by

MARKS = itertools.count()
MANY_WORKERS = 100
A, B, C = Key("ns", "a"), Key("ns", "b"), Key("ns", "c")


@pytest.fixture
def queue(clock, metrics) -> WorkQueue:
    return an_open_queue(clock, metrics, MANY_WORKERS)


def take(queue: WorkQueue, key: Key) -> None:
    """A worker gets the key as soon as it comes."""
    queue.add(key)
    assert queue.get() == key


def take_all(queue: WorkQueue) -> list[Key]:
    """What is due in the namespace of these tests. Two marks, for it enters behind the first."""
    taken: list[Key] = []
    for mark in (Key("ns", f"mark-{next(MARKS)}") for _ in range(2)):
        queue.add(mark)
        while (key := queue.get()) != mark:
            assert key is not None
            taken.append(key)
            queue.done(key)
        queue.done(mark)
    return taken


@contextmanager
def waiting(queue: WorkQueue, workers: int = 1) -> Iterator[list[Key | None]]:
    """Workers that wait for a key, and what they have got by the end, or half a minute later."""
    got: list[Key | None] = []
    threads = [threading.Thread(target=lambda: got.append(queue.get())) for _ in range(workers)]
    for thread in threads:
        thread.start()
    yield got
    for thread in threads:
        thread.join(30)
    queue.shut_down()


# Alone, again, once


@pytest.mark.parametrize(
    ("added", "taken"), [([B, A, C], [B, A, C]), ([A, B, A, A], [A, B])], ids=["each", "often"]
)
def test_keys_come_out_in_order_and_once_however_often_they_are_added(queue, added, taken):
    for key in added:
        queue.add(key)
    assert take_all(queue) == taken


def test_a_key_that_changes_while_worked_on_runs_once_more(queue):
    take(queue, A)
    queue.add(A)
    queue.add(A)
    assert take_all(queue) == []
    queue.done(A)
    assert take_all(queue) == [A]


# Later


@pytest.mark.parametrize(
    "delays", [(5,), (5, 10), (10, 5)], ids=["one", "earlier first", "later first"]
)
def test_a_delayed_key_comes_once_after_the_shortest_delay(queue, clock, delays):
    for delay in delays:
        queue.add_after(A, delay)
    for seconds, taken in ((4.9, []), (0.1, [A]), (5, [])):
        clock.step(seconds)
        assert take_all(queue) == taken


def test_a_key_that_changes_does_not_lose_its_delay(queue, clock):
    queue.add_after(A, 10)
    queue.add(A)
    assert take_all(queue) == [A]
    clock.step(10)
    assert take_all(queue) == [A]


def test_a_delay_that_ends_during_a_pass_is_not_lost(queue, clock):
    take(queue, A)
    queue.add_after(A, 1)
    clock.step(1)
    assert take_all(queue) == []
    queue.done(A)
    assert take_all(queue) == [A]


def test_a_busy_job_with_a_far_deadline_leaves_no_memory_behind(queue, clock):
    """Each pass asks for the deadline anew, and what wakes the job before it comes earlier."""
    queue.add_after(B, 3600)
    with nothing_kept_by(queue):
        for number in range(5000):
            queue.add_after(A, 0.05)
            clock.step(0.05)
            queue.get()
            queue.add_after(A, 30 * 86400 - number)
            queue.done(A, rest_seconds=0.02)
            clock.step(0.02)
    clock.step(3600)
    assert take_all(queue) == [B]
    clock.step(30 * 86400)
    assert take_all(queue) == [A]


def test_jobs_that_are_made_and_deleted_leave_no_memory_behind(queue, clock):
    """Whatever deadlines they had."""
    with nothing_kept_by(queue):
        for number in range(5000):
            take(queue, key := Key("ns", f"job-{number}"))
            queue.add_after(key, 1e9)
            queue.retry(key)
            queue.forget(key)
            queue.done(key)
    clock.step(1e9)
    assert take_all(queue) == []


def test_a_key_that_is_added_while_it_is_forgotten_comes_out(queue):
    take(queue, A)
    queue.add(A)
    queue.forget(A)
    queue.done(A)
    assert take_all(queue) == [A]


# Fair


def test_namespaces_take_turns(queue):
    crowd = [Key("many", str(number)) for number in range(4)]
    few = [Key("few", "x"), Key("few", "y")]
    for key in [*crowd, *few]:
        queue.add(key)
    taken = [queue.get() for _ in range(6)]
    assert taken == [crowd[0], few[0], crowd[1], few[1], crowd[2], crowd[3]]


@pytest.fixture
def scarce(clock, metrics) -> WorkQueue:
    """A queue in which a namespace has as many workers as it may, and more keys."""
    queue = an_open_queue(clock, metrics, shared=6)
    for number in range(12):
        queue.add(Key("slow", str(number)))
    assert [queue.get() for _ in range(6)] == [Key("slow", str(number)) for number in range(6)]
    return queue


def test_the_last_workers_are_for_namespaces_that_have_none(scarce):
    for key in (Key("one", "a"), Key("one", "b"), Key("two", "a")):
        scarce.add(key)
    assert [scarce.get() for _ in range(2)] == [Key("one", "a"), Key("two", "a")]
    scarce.done(Key("one", "a"))
    assert scarce.get() == Key("one", "b")


def test_a_namespace_that_waits_for_a_worker_gets_the_next_that_is_free(scarce):
    with waiting(scarce) as got:
        scarce.done(Key("slow", "0"))
        assert scarce.get() == Key("slow", "6")
        scarce.add(Key("one", "a"))
    assert got == [Key("one", "a")]


def test_a_namespace_that_comes_back_stands_behind_the_others(queue):
    for key in (Key("one", "a"), Key("two", "a"), Key("three", "a")):
        queue.add(key)
    queue.done(queue.get())
    queue.add(Key("one", "a"))
    assert [queue.get().namespace for _ in range(3)] == ["two", "three", "one"]


def test_a_key_rests_after_its_pass_and_is_then_as_any_other(queue, clock):
    take(queue, A)
    queue.add(A)
    queue.done(A, rest_seconds=0.5)
    queue.add(A)
    assert take_all(queue) == []
    clock.step(0.5)
    assert take_all(queue) == [A]
    take(queue, A)
    queue.done(A, rest_seconds=0.5)
    clock.step(0.5)
    assert take_all(queue) == []
    queue.add(A)
    assert take_all(queue) == [A]


def test_a_delay_that_ends_during_a_rest_is_not_lost(queue, clock):
    take(queue, A)
    queue.add_after(A, 0.2)
    queue.done(A, rest_seconds=0.5)
    clock.step(0.2)
    assert take_all(queue) == []
    clock.step(0.3)
    assert take_all(queue) == [A]


def test_a_rest_is_a_second_at_most(queue, clock):
    take(queue, A)
    queue.done(A, rest_seconds=60)
    queue.add(A)
    clock.step(MAX_REST_SECONDS)
    assert take_all(queue) == [A]


# Workers that wait


def test_a_waiting_worker_sleeps_on_when_a_key_comes_that_it_may_not_have(metrics):
    """Each time it wakes it looks at the clock, and takes the time of those that work."""
    looks: list[str] = []

    class Clock(SteppedClock):
        def monotonic(self) -> float:
            looks.append(threading.current_thread().name)
            return super().monotonic()

    queue = an_open_queue(Clock(), metrics, shared=1)
    take(queue, A)
    worker = threading.Thread(target=queue.get, name="spare")
    worker.start()
    eventually(lambda: "spare" in looks)
    queue.is_backlogged("ns")  # has the lock, so the worker sleeps by now
    looks.clear()
    queue.add(B)
    worker.join(0.2)
    seen = [*looks]
    queue.shut_down()
    worker.join(30)
    assert "spare" not in seen


def test_a_key_due_in_centuries_stops_no_worker(queue):
    queue.add_after(A, 1e11)
    with waiting(queue) as got:
        threading.Event().wait(0.1)  # it waits by now; if not, the test proves less, and passes
        queue.add(B)
    assert got == [B]


def test_waiting_workers_wake_for_what_becomes_due(metrics):
    """All of them wait; each delay wakes one, the next its successor."""
    queue = an_open_queue(Clock(), metrics, MANY_WORKERS)
    with waiting(queue, 3) as got:
        for key, seconds in ((A, 0.15), (B, 0.1), (C, 0.05)):
            queue.add_after(key, seconds)
    assert got == [C, B, A]


def test_when_the_worker_that_watches_the_time_gets_a_key_another_watches_it(metrics):
    """The one that began to wait first watches the time, and is the first to be woken."""
    queue = an_open_queue(Clock(), metrics, MANY_WORKERS)
    queue.add_after(B, 0.5)
    with waiting(queue, 2) as got:
        threading.Event().wait(0.2)  # both wait by now; if not, the test proves less, and passes
        queue.add(A)
    assert set(got) == {A, B}


# After an error


def test_a_success_makes_former_delays_void_and_no_later_one(queue, clock):
    queue.add_after(A, 1)
    queue.retry(B)
    queue.forget(A)
    queue.add_after(A, 2)
    clock.step(1)
    assert take_all(queue) == [B]
    clock.step(1)
    assert take_all(queue) == [A]


def test_a_retry_waits_as_long_as_the_server_asked(queue, clock):
    for _ in range(15):  # a back-off of its own would be minutes by now
        queue.retry(A, asked_seconds=0)
        take_all(queue)
    queue.retry(A, asked_seconds=30)
    clock.step(29)
    assert take_all(queue) == []
    clock.step(1)
    assert take_all(queue) == [A]


def test_shut_down_frees_every_waiting_worker(queue):
    with waiting(queue, 3) as got:
        queue.shut_down()
    assert got == [None, None, None]


def test_a_queue_that_is_not_open_takes_nothing_in(clock, metrics):
    queue = WorkQueue(clock, metrics.queue, MANY_WORKERS)
    with nothing_kept_by(queue):
        for number in range(10_000):
            queue.add(Key("ns", str(number)))
            queue.add_after(Key("ns", str(number)), number % 2)
    queue.open()
    clock.step(1)
    assert take_all(queue) == []


def test_shut_down_drops_what_waits(queue):
    queue.add(A)
    queue.shut_down()
    queue.add(B)
    assert queue.get() is None


def test_drain_waits_for_the_work_under_way(queue):
    take(queue, A)
    queue.shut_down()
    assert not queue.drain(0.01)
    finisher = threading.Timer(0.01, lambda: queue.done(A))
    finisher.start()
    assert queue.drain(30)


def test_metrics_tell_depth_adds_and_retries(queue, metrics, clock):
    for key in (A, A, C):
        queue.add(key)
    queue.retry(B)
    text = metrics.exposition("")[0].decode()
    labels = '{controller="paddlejob",name="paddlejob"}'
    assert f"workqueue_depth{labels} 2.0" in text
    assert f"workqueue_adds_total{labels} 2.0" in text
    assert f"workqueue_retries_total{labels} 1.0" in text
    queue.get()
    clock.step(3)
    assert f"workqueue_unfinished_work_seconds{labels} 3.0" in metrics.exposition("")[0].decode()


# Backlog


def test_a_queue_whose_keys_wait_for_a_worker_is_backlogged_and_a_moment_longer(queue, clock):
    for key in (A, B):
        queue.add(key)
    for seconds, is_backlogged in ((0, False), (BACKLOG_SECONDS, True)):
        clock.step(seconds)
        queue.get()
        assert queue.is_backlogged("ns") == is_backlogged
    clock.step(BACKLOG_LASTS_SECONDS)
    assert not queue.is_backlogged("ns")


def test_keys_that_wait_for_the_share_of_their_namespace_are_a_backlog_for_it_alone(clock, metrics):
    queue = an_open_queue(clock, metrics, shared=1)
    for key in (A, B, Key("calm", "a")):
        queue.add(key)
    assert queue.get() == A
    assert queue.get() == Key("calm", "a")
    clock.step(BACKLOG_SECONDS)
    queue.done(A)
    queue.done(Key("calm", "a"))
    assert queue.get() == B
    assert queue.is_backlogged("ns")
    assert not queue.is_backlogged("calm")


def test_keys_that_are_delayed_or_rest_make_no_backlog(queue, clock):
    take(queue, A)
    queue.add(A)
    queue.done(A, rest_seconds=1)
    queue.add_after(B, 1)
    clock.step(1)
    for _ in range(2):
        queue.get()
    assert not queue.is_backlogged("ns")


def fail(queue: WorkQueue, clock: SteppedClock, after: float | None = None) -> float:
    """A failed pass; the seconds until the next one."""
    take(queue, A)
    queue.file(A, Filing("error", after, is_failed=True))
    before = clock.monotonic()
    while A not in take_all(queue):
        clock.step(0.5)
    return clock.monotonic() - before


def test_what_each_failed_pass_asks_for_does_not_undo_the_back_off(queue, clock):
    for _ in range(20):
        fail(queue, clock, 1.0)
    assert fail(queue, clock, 1.0) + fail(queue, clock, 1.0) >= 31


def test_deadline_sooner_than_the_back_off_is_kept(queue, clock):
    for _ in range(20):
        fail(queue, clock)
    assert fail(queue, clock, 3.0) == 3
