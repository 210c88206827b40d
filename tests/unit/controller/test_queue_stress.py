"""Many threads at random on the real clock: every key comes out, alone and in time."""

import random
import threading

import pytest

from api.ownership import Key
from controller.workqueue.queue import MAX_REST_SECONDS, WorkQueue
from kube.clock import Clock
from tests.unit.controller.fakes import an_open_queue, eventually

KEYS = [Key(f"ns-{number % 3}", str(number)) for number in range(12)]
DELAYS = (0.0, 0.0, 0.001, 0.05, 0.2)
SECONDS = 1.0
LATE_SECONDS = MAX_REST_SECONDS + 4.0
"""A key rests for a second at most; the rest is for a slow machine. A lost wake costs a minute."""


class Model:
    """What the queue owes: when each key has to be out."""

    def __init__(self, queue: WorkQueue) -> None:
        self.queue, self.clock = queue, Clock()
        self.lock = threading.Lock()
        self.owed: dict[Key, float] = {}
        self.busy: set[Key] = set()
        self.faults: list[str] = []

    def add(self, key: Key, seconds: float) -> None:
        due = self.clock.monotonic() + seconds
        with self.lock:
            self.owed[key] = min(due, self.owed.get(key, due))
        self.queue.add_after(key, seconds)

    def took(self, key: Key) -> None:
        with self.lock:
            late = self.clock.monotonic() - self.owed.pop(key, float("inf"))
            if late > LATE_SECONDS:
                self.faults.append(f"{key} came {late:.1f} s late")
            if key in self.busy:
                self.faults.append(f"{key} is with two workers")
            self.busy.add(key)

    def work(self, seed: int) -> None:
        chance = random.Random(seed)
        while (key := self.queue.get()) is not None:
            self.took(key)
            if chance.random() < 0.2:
                self.add(key, chance.choice(DELAYS))
            self.pause(chance.choice((0.0, 0.0, 0.01)))
            with self.lock:
                self.busy.remove(key)
            self.queue.done(key, chance.choice((0.0, 0.0, 0.01, 0.3)))

    def produce(self, seed: int) -> None:
        chance = random.Random(seed)
        end = self.clock.monotonic() + SECONDS
        while self.clock.monotonic() < end:
            self.add(chance.choice(KEYS), chance.choice(DELAYS))
            self.pause(chance.choice((0.0, 0.0, 0.01, 0.1)))

    def pause(self, seconds: float) -> None:
        self.clock.wait(threading.Event(), seconds)


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_whatever_threads_do_each_key_comes_out_alone_and_in_time(metrics, workers):
    model = Model(an_open_queue(Clock(), metrics, workers))
    consumers = [threading.Thread(target=model.work, args=(seed,)) for seed in range(workers)]
    producers = [threading.Thread(target=model.produce, args=(seed,)) for seed in range(100, 103)]
    for thread in (*consumers, *producers):
        thread.start()
    try:
        for thread in producers:
            thread.join()
        eventually(lambda: not model.owed and not model.busy)
    finally:
        model.queue.shut_down()
        for thread in consumers:
            thread.join()
    assert model.faults == []
