"""The worker's table of outcomes: when a job is looked at again."""

from collections.abc import Iterator

import pytest

from controller.applier import Applier
from controller.events import EventRecorder
from controller.expectations import EXPIRY_SECONDS, Expectations
from controller.observe import PATIENCE, Observer
from controller.queue import WorkQueue
from controller.refusals import Refusals
from controller.resources import PADDLE_JOB, POD
from controller.store import Key, Store
from controller.worker import PERSISTENT_FAILURES, Machine, Worker
from reconcile.plan import Create, Observed, Plan, PutOff, Settings
from tests.unit.controller.builders import a_job, manifest, put, remove
from tests.unit.controller.fakes import drop, reply, status
from tests.unit.controller.memory_api import MemoryApi

KEY = Key("ns", "train")
JOB = a_job()
CREATE = Plan(creates=((Create(manifest("a", owner=JOB)),),))
QUOTA = reply(403, status(403, "Forbidden", "exceeded quota"))


class Bench:
    """A worker with a reconcile that the test decides."""

    def __init__(self, client, server, clock, metrics, log) -> None:
        self.clock, self.metrics = clock, metrics
        self.api = MemoryApi(server)
        self.store = Store((PADDLE_JOB, POD))
        put(self.store, PADDLE_JOB, JOB)
        self.plan = Plan()
        self.observed: list[Observed] = []
        self.queue = WorkQueue(clock, metrics.queue)
        refusals = Refusals(clock)
        expectations = Expectations(self.store, clock)
        recorder = EventRecorder(client, clock, metrics, log)
        machine = Machine(
            queue=self.queue,
            store=self.store,
            observer=Observer(self.store, refusals, Settings(), lambda _: False, clock),
            expectations=expectations,
            refusals=refusals,
            applier=Applier(client, expectations, recorder, metrics),
            clock=clock,
            metrics=metrics,
            decide=self.decide,
        )
        self.machine = machine
        self.worker = Worker(machine, log)

    def decide(self, observed: Observed, _now, _settings) -> Plan:
        self.observed.append(observed)
        return self.plan

    def run(self) -> float | None:
        """One pass; in how many seconds the next one is due, None for never."""
        self.queue.add(KEY)
        key = self.queue.get()
        assert key == KEY
        self.worker.work(key)
        due = self.queue._due.pop(KEY, None)
        return None if due is None else round(due - self.clock.monotonic(), 3)

    def result(self, name: str) -> float:
        text = self.metrics.exposition("")[0].decode()
        line = f'controller_runtime_reconcile_total{{controller="paddlejob",result="{name}"}} '
        return float(text.partition(line)[2].split("\n")[0])


@pytest.fixture
def bench(client, server, clock, metrics, log) -> Iterator[Bench]:
    bench = Bench(client, server, clock, metrics, log)
    yield bench
    bench.machine.applier.close()


def test_a_settled_job_is_not_looked_at_again(bench):
    assert bench.run() is None
    assert bench.result("success") == 1
    assert bench.api.writes == []


def test_a_pass_may_ask_to_come_back(bench):
    bench.plan = Plan(requeue_after=42)
    assert bench.run() == 42
    assert bench.result("requeue_after") == 1


def test_a_job_that_is_gone_is_forgotten(bench):
    remove(bench.store, PADDLE_JOB, JOB)
    assert bench.run() is None
    assert bench.observed == []


def test_own_writes_hold_the_job_back_until_they_are_seen(bench):
    bench.plan = CREATE
    bench.run()
    bench.plan = Plan()
    assert bench.run() == EXPIRY_SECONDS
    assert len(bench.observed) == 1
    for pod in list(bench.api.objects.values()):
        put(bench.store, POD, pod)
    assert bench.run() is None
    assert len(bench.observed) == 2


def test_a_job_that_makes_the_reconcile_raise_backs_off(bench):
    def raise_(*_):
        raise KeyError("spec")

    bench.worker._machine = bench.machine
    object.__setattr__(bench.machine, "decide", raise_)
    assert [bench.run() for _ in range(3)] == [0.005, 0.01, 0.02]
    assert bench.result("error") == 3


def test_an_error_backs_off_and_success_forgets_it(bench):
    bench.plan = CREATE
    bench.api.fault = lambda *_: drop
    assert [bench.run() for _ in range(3)] == [0.005, 0.01, 0.02]
    bench.plan = Plan()
    assert bench.run() is None
    bench.plan = CREATE
    assert bench.run() == 0.005


def test_a_job_that_changed_meanwhile_is_looked_at_again_and_that_is_no_error(bench):
    bench.api.put("/apis/batch.paddlepaddle.org/v1/namespaces/ns/paddlejobs/train", JOB)
    bench.plan = Plan(status={"status": {"phase": "Running"}})
    assert bench.run() == 0.005
    assert bench.result("requeue") == 1


@pytest.mark.parametrize(("asked", "waits"), [(7, 7), (3600, 300)], ids=["short", "capped"])
def test_a_throttled_job_waits_as_long_as_the_server_asked(bench, asked, waits):
    bench.plan = CREATE
    bench.api.fault = lambda *_: reply(429, status(429, "x"), Retry_After=str(asked))
    assert bench.run() == waits


def test_a_refusal_is_told_to_the_reconcile_at_once(bench):
    bench.plan = CREATE
    bench.api.fault = lambda *_: QUOTA
    assert bench.run() == 0
    bench.run()
    assert [r.message for r in bench.observed[1].refusals] == ["exceeded quota"]


def test_after_a_refusal_creates_pause_and_the_rest_goes_on(bench):
    bench.plan = CREATE
    bench.api.fault = lambda *_: QUOTA
    bench.run()
    assert bench.run() == 10
    assert len(bench.api.paths("POST")) == 1
    bench.clock.step(10)
    assert bench.run() == 20
    assert len(bench.api.paths("POST")) == 2


def test_a_pause_does_not_put_off_what_the_reconcile_waits_for(bench):
    bench.plan = CREATE
    bench.api.fault = lambda *_: QUOTA
    bench.run()
    bench.plan = Plan(creates=CREATE.creates, requeue_after=3)
    assert bench.run() == 3


def test_a_quota_that_is_raised_lets_the_job_go_on(bench):
    bench.plan = CREATE
    bench.api.fault = lambda *_: QUOTA
    bench.run()
    bench.clock.step(10)
    bench.api.fault = lambda *_: None
    assert bench.run() is None
    bench.plan = Plan()
    for pod in list(bench.api.objects.values()):
        put(bench.store, POD, pod)
    bench.run()
    assert bench.observed[-1].refusals == ()


def test_an_error_that_persists_is_told_to_the_reconcile(bench):
    bench.plan = CREATE
    webhook = reply(500, status(500, "InternalError", "failed calling webhook"))
    bench.api.fault = lambda *_: webhook
    for _ in range(PERSISTENT_FAILURES):
        bench.run()
    assert bench.observed[-1].refusals == ()
    bench.run()
    bench.run()
    assert "webhook" in bench.observed[-1].refusals[0].message


def test_when_the_status_was_written_is_told(bench):
    job_path = "/apis/batch.paddlepaddle.org/v1/namespaces/ns/paddlejobs/train"
    put(bench.store, PADDLE_JOB, bench.api.put(job_path, JOB))
    bench.plan = Plan(status={"status": {"phase": "Running"}})
    bench.run()
    put(bench.store, PADDLE_JOB, bench.api.objects[job_path])
    bench.run()
    assert [o.status_written_at for o in bench.observed] == [None, bench.clock.now()]


def test_a_job_that_moved_to_another_state_is_looked_at_again_at_once(bench):
    job_path = "/apis/batch.paddlepaddle.org/v1/namespaces/ns/paddlejobs/train"
    put(bench.store, PADDLE_JOB, bench.api.put(job_path, JOB))
    bench.plan = Plan(status={"status": {"phase": "Restarting"}}, is_move=True)
    assert bench.run() == 0


def test_a_first_status_is_put_off_while_others_wait(bench):
    bench.run()
    for name in ("one", "two", "three"):
        bench.queue.add(Key("ns", name))
    for _ in range(3):
        bench.queue.done(bench.queue.get())
    bench.run()
    now = bench.clock.now()
    assert [o.put_off for o in bench.observed] == [None, PutOff(now, now + PATIENCE)]
