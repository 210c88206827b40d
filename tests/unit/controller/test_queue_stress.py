"""Many threads at random on the real clock: every key comes out, alone, and none is lost."""

import random
import threading

import pytest

from api.ownership import Key
from controller.workqueue.queue import WorkQueue
from kube.clock import Clock
from tests.unit.controller.fakes import an_open_queue, eventually

KEYS = [Key(f"ns-{number % 3}", str(number)) for number in range(12)]
DELAYS = (0.0, 0.0, 0.001, 0.05, 0.2)
SECONDS = 1.0


class Model:
    """What the queue owes: the keys that have to come out."""

    def __init__(self, queue: WorkQueue) -> None:
        self.queue, self.clock = queue, Clock()
        self.lock = threading.Lock()
        self.owed: set[Key] = set()
        self.busy: set[Key] = set()
        self.faults: list[str] = []

    def add(self, key: Key, seconds: float) -> None:
        with self.lock:
            self.owed.add(key)
        self.queue.add_after(key, seconds)

    def took(self, key: Key) -> None:
        with self.lock:
            self.owed.discard(key)
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
def test_whatever_threads_do_each_key_comes_out_alone_and_none_is_lost(
    metrics, workers, monkeypatch
):
    """If a wake was lost, somebody would wait for ever."""
    monkeypatch.setattr("controller.workqueue.queue._IDLE_SECONDS", threading.TIMEOUT_MAX)
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
