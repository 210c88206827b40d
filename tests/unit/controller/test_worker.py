"""The worker's table of outcomes: when a job is looked at again."""

import threading
import traceback
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from api.objects import Raw, name_of
from api.ownership import Key
from controller.client.resources import PADDLE_JOB, POD
from controller.work.applier import Applier
from controller.work.memory import AWAIT_SECONDS
from controller.work.observer import Observer
from controller.work.ports import PortRanges
from controller.work.result import PERSISTENT_SECONDS
from controller.work.worker import (
    BATCH_SECONDS,
    CONFLICT_SECONDS,
    LARGE_BYTES,
    LARGE_WAIT_SECONDS,
    LEAST_WAIT_SECONDS,
    REST_FACTOR,
    Worker,
)
from controller.workqueue.queue import WorkQueue
from controller.workqueue.rate_limiter import RECONNECT_SECONDS, RETRY_FIRST_SECONDS
from kube.errors import NotFound, Transient
from reconcile.model.pause import pause_after
from reconcile.model.plan import (
    FORMER_JOB,
    OWNERLESS,
    YOUNG_KIND,
    Create,
    Delete,
    EmitEvent,
    ObjectReference,
    Observed,
    Plan,
    Settings,
    Wait,
)
from tests.unit.controller.fakes import Step, drop, reply, status
from tests.unit.controller.memory_api import Writes
from tests.unit.controller.stored import a_job, a_pod, creation, put

KEY = Key("ns", "train")
JOB = a_job()
STATUS = {"status": {"phase": "Restarting"}}
CREATE = Plan(creates=((creation("a", JOB),),))
BROKEN = reply(500, status(500, "InternalError"))
WEBHOOK_DOWN = reply(500, status(500, "InternalError", "failed calling webhook"))
QUOTA = reply(403, status(403, "Forbidden", "exceeded quota"))


def raise_(*_) -> Any:
    raise KeyError("spec")


class Queue(WorkQueue):
    """The real queue, but a pass is to be had at once; it keeps what a pass asked for."""

    asked: list[float]

    def add(self, key: Key) -> None:
        super().add(key)
        self.asked = [*getattr(self, "asked", ()), 0.0]

    def add_after(self, key: Key, seconds: float) -> None:
        self.asked.append(round(seconds, 3))

    def done(self, key: Key, rest_seconds: float = 0.0) -> None:
        self.rested = rest_seconds
        super().done(key)


class Bench(Writes):
    """A worker with a reconcile that the test decides."""

    def __init__(self, client, server, clock, metrics, log) -> None:
        super().__init__(client, server, clock, metrics, log)
        self.clock = clock
        put(self.store, PADDLE_JOB, JOB)
        self.plan = Plan()
        self.observed: list[Observed] = []
        self.looking_seconds = 0.0
        self.queue = Queue(clock, metrics.queue, 8)
        self.queue.open()
        self.worker = Worker(
            queue=self.queue,
            store=self.store,
            memory=self.memory,
            observer=Observer(
                self.store, self.memory, lambda *_: False, client.get, self.queue.is_backlogged
            ),
            applier=self.applier,
            clock=clock,
            metrics=metrics,
            log=log,
            settings=Settings(),
            decide=self.decide,
            ports=PortRanges(self.store),
        )

    def decide(self, observed: Observed, _now, _settings) -> Plan:
        self.observed.append(observed)
        self.clock.step(self.looking_seconds)
        left = pause_after(observed.refused_times, observed.paused_in_namespace)
        left -= observed.refused_seconds
        if not observed.refusals or left <= 0:
            return self.plan
        again = self.plan.requeue_after
        again = left if again is None else min(left, again)
        return replace(self.plan, creates=(), requeue_after=again, is_paused=True)

    def run(self) -> float | None:
        """One pass, as soon as the job may have one; then in how many seconds the next one is due,
        None for never.
        """
        self.queue.add(KEY)
        key = self.queue.get()
        assert key == KEY
        self.queue.asked = []
        self.worker.work(key)
        return min(self.queue.asked, default=None)

    def result(self, name: str) -> float:
        text = self.metrics.exposition("")[0].decode()
        line = f'controller_runtime_reconcile_total{{controller="paddlejob",result="{name}"}} '
        return float(text.partition(line)[2].split("\n")[0])


@pytest.fixture
def bench(client, server, clock, metrics, log) -> Iterator[Bench]:
    bench = Bench(client, server, clock, metrics, log)
    yield bench
    bench.applier.close()


def test_of_the_large_jobs_of_a_namespace_one_has_its_pass_at_a_time(bench):
    put(bench.store, PADDLE_JOB, a_job(spec={"text": "x" * LARGE_BYTES}))
    other = Key(KEY.namespace, "other")
    assert bench.worker.large.enter(Key("far", "other"), LARGE_BYTES + 1)
    assert bench.worker.large.enter(other, LARGE_BYTES + 1)
    assert bench.run() == LARGE_WAIT_SECONDS
    assert bench.observed == []
    bench.worker.large.leave(other)
    assert [bench.run(), bench.run()] == [None, None]
    assert bench.worker.large.enter(other, LARGE_BYTES + 1)
    put(bench.store, PADDLE_JOB, JOB)
    assert bench.run() is None, "a usual job does not wait"
    assert len(bench.observed) == 3


def test_a_pass_that_waits_for_the_end_of_a_log_asks_for_it_and_knows_since_when(bench):
    asked: list[Key] = []
    bench.worker = replace(bench.worker, read_end=asked.append)
    bench.plan = Plan(waits=frozenset({Wait.END_OF_LOG}), requeue_after=20.0)
    assert (bench.run(), asked) == (20.0, [KEY])
    bench.clock.step(7)
    bench.run()
    bench.plan = Plan()
    bench.run()
    bench.run()
    assert [each.waited.get(Wait.END_OF_LOG) for each in bench.observed] == [None, 7.0, 7.0, None]
    assert asked == [KEY, KEY]


def test_each_write_is_a_line_for_who_debugs(bench):
    bench.plan = replace(CREATE, status=STATUS)
    put(bench.store, PADDLE_JOB, bench.api.put(PADDLE_JOB.path(*KEY), JOB))
    with capture_logs() as lines:
        bench.run()
    told = [(line["log_level"], line["event"], line["job"], line.get("name")) for line in lines]
    assert told == [
        ("debug", "created", "ns/train", "a"),
        ("debug", "status_written", "ns/train", None),
    ]


def pending(reason: str) -> Raw:
    """The status of a job that waits for this reason, or for none."""
    one = {"type": "Pending", "status": str(bool(reason)), "reason": reason or "AllPodsRunning"}
    return {"status": {"phase": "Pending", "conditions": [{**one, "message": f"{reason}!"}]}}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("", "Unschedulable", [("waits", "Unschedulable", "Unschedulable!")]),
        ("Unschedulable", "Unschedulable", []),
        ("Queued", "", [("wait_ended", "Queued", None)]),
        ("Queued", "ImageError", [
            ("wait_ended", "Queued", None), ("waits", "ImageError", "ImageError!")]),
    ],
)  # fmt: skip
def test_a_reason_to_wait_is_a_line_when_it_begins_and_when_it_ends(bench, before, after, told):
    bench.plan = Plan(status=pending(after))
    put(bench.store, PADDLE_JOB, bench.api.put(PADDLE_JOB.path(*KEY), JOB | pending(before)))
    with capture_logs() as lines:
        bench.run()
    assert told == [
        (line["event"], line["reason"], line.get("message"))
        for line in lines
        if line["log_level"] == "info"
    ]
    assert all(line["job"] == "ns/train" for line in lines)


def test_own_writes_hold_the_job_back_until_they_are_seen(bench):
    bench.plan = CREATE
    bench.run()
    bench.plan = Plan()
    assert bench.run() == AWAIT_SECONDS
    assert len(bench.observed) == 1
    for pod in list(bench.api.objects.values()):
        put(bench.store, POD, pod)
    assert bench.run() is None
    assert len(bench.observed) == 2


def test_a_job_that_makes_the_reconcile_raise_backs_off(bench):
    bench.worker = replace(bench.worker, decide=raise_)
    assert [bench.run() for _ in range(3)] == [0.005, 0.01, 0.02]
    assert bench.result("error") == 3


def test_a_write_that_raises_does_not_put_off_the_plan_s_own_time(bench):
    bench.plan = Plan(creates=((Create("Pod", "a", raise_),),), requeue_after=7)
    for _ in range(20):
        waits = bench.run()
    assert waits == 7


def test_a_report_that_raises_does_not_put_off_the_plan_s_own_time(bench):
    bench.plan = replace(CREATE, requeue_after=7)
    bench.api.fault = lambda *_: QUOTA
    bench.worker = replace(
        bench.worker, decide=lambda seen, *_: raise_() if seen.refusals else bench.plan
    )
    bench.run()
    assert 7 in bench.queue.asked


def test_an_error_backs_off_and_success_forgets_it(bench):
    bench.plan = CREATE
    bench.api.fault = lambda *_: drop
    assert [bench.run() for _ in range(3)] == [0.005, 0.01, 0.02]
    bench.plan = Plan(requeue_after=42)
    assert bench.run() == 42
    assert bench.result("requeue_after") == 1
    bench.plan = CREATE
    assert bench.run() == 0.005


@pytest.mark.parametrize(
    ("answer", "waits"), [(drop, RECONNECT_SECONDS), (BROKEN, 30)], ids=["nobody", "an error"]
)
def test_a_job_whose_writes_nobody_answers_is_tried_sooner_than_others_that_fail(
    bench, answer, waits
):
    bench.plan = CREATE
    bench.api.fault = lambda *_: answer
    assert [bench.run() for _ in range(20)][-1] == waits


@pytest.mark.parametrize("is_there", [True, False], ids=["changed", "gone"])
@pytest.mark.parametrize("is_move", [True, False], ids=["move", "stay"])
def test_a_job_that_changed_meanwhile_has_another_pass_and_that_is_no_error(
    bench, is_there, is_move
):
    if is_there:
        bench.api.put(PADDLE_JOB.path(*KEY), JOB)
    bench.plan = Plan(status=STATUS, is_move=is_move)
    assert bench.run() == CONFLICT_SECONDS
    assert bench.result("requeue") == 1


def test_a_job_whose_write_the_lease_did_not_cover_is_looked_at_again(
    make_client, server, clock, metrics, log
):
    bench = Bench(make_client(write_seconds=lambda: 0.0), server, clock, metrics, log)
    bench.plan = CREATE
    assert bench.run() == 0.005
    bench.applier.close()


@pytest.mark.parametrize(("asked", "waits"), [(7, 7), (86400, 30)], ids=["short", "capped"])
def test_a_throttled_job_waits_as_long_as_the_server_asked(bench, asked, waits):
    bench.plan = CREATE
    bench.api.fault = lambda *_: reply(429, status(429, "x"), Retry_After=str(asked))
    assert bench.run() == waits
    assert [len(seen.refusals) for seen in bench.observed] == [0, 1], "the job says so at once"


FAILURES = {
    "refused": lambda *_: QUOTA,
    "an error": lambda *_: BROKEN,
    "throttled": lambda *_: reply(429, status(429, "x"), Retry_After="60"),
}


@pytest.mark.parametrize("fault", FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize(("asked", "comes"), [(7, 7), (0, LEAST_WAIT_SECONDS)])
def test_however_long_failed_writes_wait_the_plan_s_own_time_holds(bench, fault, asked, comes):
    bench.plan = CREATE
    bench.api.fault = fault
    for _ in range(13):
        bench.run()
        bench.clock.step(300)
    bench.plan = Plan(creates=CREATE.creates, requeue_after=asked)
    assert bench.run() == comes


def test_a_status_that_failed_beside_a_refusal_does_not_wait_for_the_pause(bench):
    bench.plan = replace(CREATE, status={"status": {"phase": "Pending"}})
    bench.api.fault = lambda method, _: QUOTA if method == "POST" else BROKEN
    for _ in range(3):
        bench.clock.step(300)
        waits = bench.run()
    assert waits == 0.02


def test_a_kind_that_admission_does_not_know_yet_is_told_at_once(bench):
    why = "cannot set blockOwnerDeletion in this case because cannot find RESTMapping"
    bench.api.fault = lambda *_: reply(
        403, status(403, "Forbidden", f'pods "a" is forbidden: {why}')
    )
    bench.plan = CREATE
    assert bench.run() == 2
    (refusal,) = bench.observed[-1].refusals
    assert refusal.reason == YOUNG_KIND
    assert bench.memory.facts(KEY, "job-1").refused_times == 0


def test_an_error_that_takes_long_to_come_is_told_in_the_same_pass_and_creates_pause(bench):
    """Each try has a worker for as long as it takes, and the next turn may be far away."""

    def time_out(*_) -> Step:
        bench.clock.step(PERSISTENT_SECONDS)
        return reply(500, status(500, "InternalError", "failed calling webhook"))

    bench.plan = CREATE
    bench.api.fault = time_out
    assert bench.run() == 0.005
    assert len(bench.observed) == 2
    assert "webhook" in bench.observed[-1].refusals[0].message
    bench.run()
    assert len(bench.observed) == 3
    assert len(bench.api.paths("POST")) == 1


@pytest.mark.parametrize("is_owned", [True, False], ids=["owned", "restored without its owner"])
def test_a_pod_of_a_former_job_is_told_by_its_namesake_alone_however_slow_the_answer(
    bench, is_owned
):
    pod = a_pod("a", a_job(uid="former"))
    if not is_owned:  # as after a restore
        del pod["metadata"]["ownerReferences"]
    bench.api.put("/api/v1/namespaces/ns/pods/a", pod)
    bench.plan = CREATE
    bench.api.fault = lambda *_: bench.clock.step(PERSISTENT_SECONDS)
    bench.run()
    refusal = bench.observed[-1].refusals[0]
    assert refusal.reason == (FORMER_JOB if is_owned else OWNERLESS)
    assert is_owned or refusal.message == "former"
    assert bench.memory.facts(Key("ns", "waits"), "waits").slow_create is None


def test_a_refusal_that_is_worded_anew_each_time_makes_no_pass_follow_the_other(bench):
    bench.api.put("/api/v1/namespaces/ns/pods/a", {"metadata": {"uid": "u1"}})
    bench.plan = Plan(deletes=(Delete(ObjectReference("v1", "Pod", "a", "u1")),))
    words = (f"request {number}" for number in range(9))
    bench.api.fault = lambda *_: reply(403, status(403, "Forbidden", next(words)))
    assert [bench.run() for _ in range(3)] == [10, 10, 10]
    assert [len(o.refusals) for o in bench.observed] == [0, 1, 1, 1]
    assert bench.observed[1].refusals[0].message == "request 0", "it is told at once"


def test_a_job_that_moved_to_another_state_is_looked_at_again_at_once(bench):
    put(bench.store, PADDLE_JOB, bench.api.put(PADDLE_JOB.path(*KEY), JOB))
    bench.plan = Plan(status={"status": {"phase": "Restarting"}}, is_move=True)
    assert bench.run() == 0


def test_jobs_on_the_host_are_given_ports_one_after_the_other(bench):
    """The second is decided on what the first was given, though the store does not show it yet."""
    on_host = {"spec": {"intranet": "Host"}}
    put(bench.store, PADDLE_JOB, JOB | on_host)
    put(bench.store, PADDLE_JOB, a_job("other", uid="job-2") | on_host)
    other = Key("ns", "other")
    passes = [threading.Thread(target=bench.worker.work, args=[other])]

    def decide(observed, _now, _settings):
        bench.observed.append(observed)
        if name_of(observed.job) == "other":
            return Plan()
        passes[0].start()
        passes[0].join(0.2)
        return Plan(status={"status": {"hostPorts": {"train-worker-0": 30020}}})

    bench.worker = replace(bench.worker, decide=decide)
    bench.queue.add(KEY)
    bench.queue.add(other)
    assert {bench.queue.get(), bench.queue.get()} == {KEY, other}
    bench.queue.asked = []
    bench.worker.work(KEY)
    passes[0].join()
    assert [name_of(each.job) for each in bench.observed] == ["train", "other"]
    assert bench.observed[1].taken_host_ports == {30020}


def test_a_job_that_asks_the_api_server_keeps_no_other_from_its_ports(bench):
    """Pods of another operator are asked for by name, and the answer may take its time."""
    spec = {"intranet": "Host", "worker": {"replicas": 1}}
    put(bench.store, PADDLE_JOB, JOB | {"spec": spec, "status": {"phase": "Running"}})
    put(bench.store, PADDLE_JOB, a_job("other", uid="job-2") | {"spec": spec})
    others = threading.Thread(target=bench.worker.work, args=[Key("ns", "other")])
    seen: list[bool] = []

    def get(_path: str) -> Raw:
        others.start()
        others.join(10)
        seen.append(not others.is_alive())
        raise NotFound("gone")

    bench.worker = replace(
        bench.worker, observer=Observer(bench.store, bench.memory, lambda *_: False, get)
    )
    bench.queue.add(Key("ns", "other"))
    bench.queue.get()
    bench.run()
    assert seen == [True]


RESTS = {
    "long": (0.05, Plan(), 0.05 * REST_FACTOR),
    "quick": (0.0, Plan(), BATCH_SECONDS),
    "moved": (0.02, Plan(is_move=True), 0.0),
    "longer than a pass": (0.0, Plan(creates=((*CREATE.creates[0], creation("b", JOB)),)), 0.0),
}


@pytest.mark.parametrize(("looking", "plan", "rests"), RESTS.values(), ids=RESTS)
def test_a_job_rests_by_what_looking_at_it_took(bench, monkeypatch, looking, plan, rests):
    monkeypatch.setattr("controller.work.applier.MAX_CREATES", 1)
    bench.looking_seconds = looking
    bench.plan = plan
    bench.run()
    assert bench.queue.rested == pytest.approx(rests)


@pytest.mark.parametrize(
    "plan", [CREATE, Plan(status=STATUS, is_move=True)], ids=["create", "move"]
)
def test_a_job_that_failed_rests_by_what_looking_at_it_took_however_many_events_come(bench, plan):
    bench.looking_seconds = 0.02
    bench.plan = plan
    bench.api.fault = lambda *_: WEBHOOK_DOWN
    assert [bench.run() for _ in range(4)] == [RETRY_FIRST_SECONDS * 2**n for n in range(4)]
    assert bench.queue.rested == pytest.approx(0.02 * REST_FACTOR)
    bench.looking_seconds = 0.0
    bench.run()
    assert bench.queue.rested == 0


def test_a_job_that_makes_the_reconcile_raise_rests_by_what_that_took(bench):
    bench.looking_seconds = 0.02
    bench.worker = replace(bench.worker, decide=lambda *seen: raise_(bench.decide(*seen)))
    bench.run()
    assert bench.queue.rested == pytest.approx(0.02 * REST_FACTOR)


def test_a_move_that_an_older_crd_drops_is_an_error_and_backs_off(bench):
    """The API server takes it, and leaves the job as it was."""
    job = bench.api.put(PADDLE_JOB.path(*KEY), JOB)
    put(bench.store, PADDLE_JOB, job)
    bench.plan = Plan(status=STATUS, events=(EmitEvent("Normal", "r", "m"),), is_move=True)
    bench.api.fault = lambda method, _path: reply(200, job) if method == "PATCH" else None
    assert [bench.run() for _ in range(3)] == [0.005, 0.01, 0.02]
    assert bench.result("error") == 3


def test_five_frames_lead_from_a_worker_with_a_key_to_the_client(bench):
    frames: list[str] = []

    class Client:
        def create(self, _path, _body):
            frames.extend(each.name for each in traceback.extract_stack()[:-1])
            raise Transient("no answer")

    bench.applier = Applier(Client(), bench.memory, bench.recorder, bench.metrics)  # type: ignore[arg-type]
    bench.worker = replace(bench.worker, applier=bench.applier)
    bench.plan = CREATE
    bench.run()
    assert len(frames[frames.index("work") :]) == 5


def test_a_read_that_fails_is_retried_and_nothing_is_decided(bench):
    spec = {"worker": {"replicas": 1, "template": {}}}
    put(bench.store, PADDLE_JOB, {**JOB, "spec": spec, "status": {"phase": "Running"}})
    bench.api.fault = lambda method, _path: BROKEN if method == "GET" else None
    assert bench.run() is not None
    assert bench.result("error") == 1
    assert bench.observed == []
    text = bench.metrics.exposition("")[0].decode()
    assert 'controller_runtime_reconcile_panics_total{controller="paddlejob"} 0.0' in text
