"""The work queue's contract, a property a test."""

import itertools
import re
import threading

import pytest

from controller.queue import CROWDED_REST_SECONDS, CROWDED_SECONDS, NEWS_SECONDS, WorkQueue
from controller.store import Key
from tests.unit.controller.fakes import eventually

MARKS = itertools.count()
A, B, C = Key("ns", "a"), Key("ns", "b"), Key("ns", "c")


@pytest.fixture
def queue(clock, metrics) -> WorkQueue:
    return WorkQueue(clock, metrics.queue)


def take_all(queue: WorkQueue) -> list[Key]:
    """What is due, but for what comes last. Two marks, for it enters behind the first."""
    taken: list[Key] = []
    for mark in (Key("", f"mark-{next(MARKS)}") for _ in range(2)):
        queue.add(mark)
        while (key := queue.get()) != mark:
            taken.append(key)
            queue.done(key)
        queue.done(mark)
    return taken


def depth(metrics) -> float:
    """How many keys wait, as the metrics tell it."""
    text = metrics.exposition("")[0].decode()
    return float(re.search(r"^workqueue_depth{.*} (.+)$", text, re.MULTILINE).group(1))


def test_keys_come_out_in_order(queue):
    for key in (B, A, C):
        queue.add(key)
    assert take_all(queue) == [B, A, C]


def test_a_key_added_often_comes_out_once(queue):
    for key in (A, B, A, A):
        queue.add(key)
    assert take_all(queue) == [A, B]


def test_a_key_that_changes_while_worked_on_runs_once_more(queue):
    queue.add(A)
    assert queue.get() == A
    queue.add(A)
    queue.add(A)
    assert take_all(queue) == []
    queue.done(A)
    assert take_all(queue) == [A]


def test_a_key_is_never_with_two_workers(queue):
    queue.add(A)
    queue.get()
    queue.add(A)
    queue.add(B)
    assert queue.get() == B


def test_a_delayed_key_waits_its_time(queue, clock):
    queue.add_after(A, 10)
    clock.step(9.9)
    assert take_all(queue) == []
    clock.step(0.1)
    queue.add(B)
    assert set(take_all(queue)) == {A, B}


@pytest.mark.parametrize("delays", [(5, 10), (10, 5)], ids=["earlier first", "later first"])
def test_of_two_delays_the_earlier_counts(queue, clock, delays):
    for delay in delays:
        queue.add_after(A, delay)
    clock.step(5)
    assert take_all(queue) == [A]
    clock.step(5)
    assert take_all(queue) == []


def test_a_costly_key_rests_from_events(queue, clock):
    queue.add(A)
    queue.get()
    queue.add(A)
    queue.done(A, rest_seconds=0.5)
    queue.add(A)
    assert take_all(queue) == []
    clock.step(0.5)
    assert take_all(queue) == [A]


def test_a_rest_holds_up_no_other_key_and_nothing_that_was_asked_for(queue):
    queue.add(A)
    queue.get()
    queue.done(A, rest_seconds=0.5)
    queue.add(A)
    queue.add(B)
    assert take_all(queue) == [B]
    queue.add_after(A, 0.0)
    assert take_all(queue) == [A]


def test_a_rest_is_a_second_at_most(queue, clock):
    queue.add(A)
    queue.get()
    queue.done(A, rest_seconds=60)
    queue.add(A)
    clock.step(1)
    assert take_all(queue) == [A]


def test_what_comes_last_waits_for_what_came_after_it(queue):
    queue.add_last(A)
    queue.add_last(B)
    queue.add_last(A)
    queue.add(C)
    assert [queue.get() for _ in range(3)] == [C, A, B]


def test_what_comes_last_gets_every_tenth_turn(queue):
    for key in (Key("ns", f"busy-{number}") for number in range(20)):
        queue.add(key)
    queue.add_last(A)
    assert A in [queue.get() for _ in range(10)]


def test_what_comes_last_is_no_crowd(queue):
    for key in (A, B, C):
        queue.add_last(key)
    queue.get()
    assert not queue.is_crowded()


def test_what_comes_last_counts_as_waiting(queue, metrics):
    queue.add_last(A)
    queue.add_last(B)
    assert depth(metrics) == 2


def test_a_key_that_comes_last_is_due_with_others_once_it_changes(queue, metrics):
    queue.add_last(A)
    queue.add_last(B)
    queue.add(B)
    queue.add_last(B)
    assert [queue.get(), queue.get()] == [B, A]
    assert depth(metrics) == 0


def test_a_key_that_waits_with_others_does_not_come_last_as_well(queue, metrics):
    queue.add(A)
    queue.add_last(A)
    assert queue.get() == A
    assert depth(metrics) == 0


def test_a_held_key_is_woken_by_what_else_would_come_last(queue):
    queue.add(A)
    queue.get()
    queue.hold(A, 60)
    queue.done(A)
    queue.add_last(B)
    queue.add_last(A)
    assert queue.get() == A


def test_a_key_that_comes_last_is_never_with_two_workers(queue):
    queue.add(A)
    queue.get()
    queue.add_last(A)
    queue.add_last(B)
    assert queue.get() == B
    queue.done(A)
    assert queue.get() == A


def test_a_worker_that_waits_wakes_for_what_comes_last(queue):
    taken: list[Key | None] = []
    worker = threading.Thread(target=lambda: taken.append(queue.get()))
    worker.start()
    eventually(lambda: bool(queue._changed._waiters))
    queue.add_last(A)
    worker.join(30)
    assert taken == [A]


def test_news_that_can_wait_comes_out_later(queue, clock):
    queue.add_later(A)
    clock.step(NEWS_SECONDS - 0.1)
    queue.add_later(A)
    assert take_all(queue) == []
    clock.step(0.1)
    assert take_all(queue) == [A]


def test_a_pass_before_has_seen_the_news_that_could_wait(queue, clock):
    queue.add_later(A)
    queue.add(A)
    queue.add_later(A)
    assert take_all(queue) == [A]
    clock.step(NEWS_SECONDS)
    assert take_all(queue) == []


def test_news_during_a_pass_is_not_lost(queue, clock):
    queue.add(A)
    queue.get()
    queue.add_later(A)
    queue.done(A)
    assert take_all(queue) == []
    clock.step(NEWS_SECONDS)
    assert take_all(queue) == [A]


def test_what_was_asked_for_stays_after_news(queue, clock):
    queue.add_after(A, 1)
    queue.add_later(A)
    queue.add(A)
    assert take_all(queue) == [A]
    clock.step(1)
    assert take_all(queue) == [A]


def test_any_news_wakes_a_key_that_is_held(queue, clock):
    queue.add(A)
    queue.get()
    queue.hold(A, 120)
    queue.done(A)
    assert take_all(queue) == []
    queue.add_later(A)
    assert take_all(queue) == [A]
    clock.step(120)
    assert take_all(queue) == []


def test_a_key_that_is_held_comes_out_without_news(queue, clock):
    queue.add(A)
    queue.get()
    queue.hold(A, 120)
    queue.done(A)
    clock.step(120)
    assert take_all(queue) == [A]


def test_a_waiting_worker_gets_a_key_that_comes(queue):
    got = []
    worker = threading.Thread(target=lambda: got.append(queue.get()))
    worker.start()
    queue.add(A)
    worker.join(30)
    assert got == [A]


def test_a_key_due_in_centuries_stops_no_worker(queue):
    queue.add_after(A, 1e11)
    got = []
    worker = threading.Thread(target=lambda: got.append(queue.get()), daemon=True)
    worker.start()
    worker.join(0.1)
    assert worker.is_alive()
    queue.add(B)
    worker.join(30)
    assert got == [B]


def test_failures_back_off_and_success_forgets(queue, clock):
    delays = []
    for _ in range(4):
        queue.retry(A)
        delays.append(_next_due(queue, clock))
    assert delays == [0.005, 0.01, 0.02, 0.04]
    queue.forget(A)
    queue.retry(A)
    assert _next_due(queue, clock) == 0.005


def _next_due(queue: WorkQueue, clock) -> float:
    due, key = queue._heap[0]
    started = clock.monotonic()
    clock.step(due - started)
    assert queue.get() == key
    queue.done(key)
    return round(due - started, 6)


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
    got: list[Key | None] = []
    workers = [threading.Thread(target=lambda: got.append(queue.get())) for _ in range(3)]
    for worker in workers:
        worker.start()
    queue.shut_down()
    for worker in workers:
        worker.join(30)
    assert got == [None, None, None]


def test_shut_down_drops_what_waits(queue):
    queue.add(A)
    queue.shut_down()
    queue.add(B)
    assert queue.get() is None


def test_drain_waits_for_the_work_under_way(queue):
    queue.add(A)
    queue.get()
    queue.shut_down()
    assert not queue.drain(0.01)
    finisher = threading.Timer(0.01, lambda: queue.done(A))
    finisher.start()
    assert queue.drain(30)


def test_no_key_is_lost_or_doubled_among_many_workers(queue):
    keys = [Key("ns", str(n)) for n in range(200)]
    seen: list[Key] = []
    busy: set[Key] = set()
    lock = threading.Lock()

    def work() -> None:
        while (key := queue.get()) is not None:
            with lock:
                assert key not in busy
                busy.add(key)
            with lock:
                busy.discard(key)
                seen.append(key)
            queue.done(key)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for key in keys:
        queue.add(key)
    eventually(lambda: len(seen) >= 200)
    queue.shut_down()
    for worker in workers:
        worker.join(30)
    assert sorted(set(seen)) == sorted(keys)


def test_metrics_tell_depth_adds_and_retries(queue, metrics, clock):
    for _ in range(2):
        queue.add(A)
        queue.add_last(C)
    queue.add(C)
    queue.retry(B)
    text = metrics.exposition("")[0].decode()
    labels = '{controller="paddlejob",name="paddlejob"}'
    assert f"workqueue_depth{labels} 2.0" in text
    assert f"workqueue_adds_total{labels} 2.0" in text
    assert f"workqueue_retries_total{labels} 1.0" in text
    queue.get()
    clock.step(3)
    assert f"workqueue_unfinished_work_seconds{labels} 3.0" in metrics.exposition("")[0].decode()


def test_a_queue_in_which_keys_wait_is_crowded_and_a_moment_longer(queue, clock):
    queue.add(A)
    queue.get()
    assert not queue.is_crowded()
    for key in (B, C):
        queue.add(key)
    queue.get()
    assert queue.is_crowded()
    queue.get()
    assert queue.is_crowded()
    clock.step(CROWDED_SECONDS)
    assert not queue.is_crowded()


def test_in_a_crowd_a_key_rests_between_looks(queue, clock):
    for key in (A, B, C):
        queue.add(key)
    for _ in range(3):
        queue.done(queue.get())
    queue.add(A)
    assert take_all(queue) == []
    clock.step(CROWDED_REST_SECONDS)
    assert take_all(queue) == [A]
