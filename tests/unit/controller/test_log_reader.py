"""Whose log is read when, and what comes of logs that cannot be read."""

import functools
import itertools
import math
from collections import Counter
from typing import Any

import pytest
from structlog.testing import capture_logs

from api.objects import Raw, uid_of
from api.ownership import Key
from controller.cache.store import Store
from controller.client.resources import PADDLE_JOB, POD
from controller.work.log_reader import (
    AT_ONCE,
    BACKLOG_SHARE,
    FORBIDDEN_SECONDS,
    LOG_RATE,
    MAX_BUSY_SECONDS,
    PERIOD_SECONDS,
    THREADS,
    LogReader,
)
from controller.work.memory import JobMemory
from controller.work.node_rests import NODE_REST_SECONDS, NodeRests
from controller.workqueue.queue import Filing
from controller.workqueue.rate_limiter import Batches, TokenBucket
from kube.errors import ApiError, Forbidden, Invalid, NotFound, Throttled, Transient, Unreachable
from kube.logs import MAX_TAIL_BYTES
from metrics import Metrics
from reconcile.attempt.completion import READ_END_SECONDS
from reconcile.model.plan import EmitEvent, Wait
from tests.memory.builders import a_job, a_pod, a_template
from tests.unit.controller.fakes import an_open_queue
from tests.unit.controller.stored import put, remove

RATE = 5.0
LINE = b"2026-01-02T03:04:%02d.000000001Z epoch 1 step %d loss 0.5\n"
SIDECARS = [{"name": "sidecar", "image": "s"}, {"name": "paddle", "image": "train:1"}]


class Cluster:
    """Running jobs with their logs, which are read by a reader on a stepped clock."""

    def __init__(self, clock: Any, log: Any) -> None:
        self.clock = clock
        self.store = Store((PADDLE_JOB, POD))
        self.memory = JobMemory(self.store, clock)
        self.told: list[Key] = []
        self.events: list[tuple[str, str, str]] = []
        self.logs: dict[str, bytes | Exception] = {}
        self.asked: list[tuple[float, str, dict[str, Any]]] = []
        self.meanwhile = lambda: None
        self.backlogged: set[str] = set()
        self.reader = LogReader(
            client=self,  # type: ignore[arg-type] # all that it calls is read_log
            store=self.store,
            memory=self.memory,
            add=self.told.append,
            record=self._record,
            pace=Batches(AT_ONCE, AT_ONCE / RATE, clock),
            is_backlogged=self.backlogged.__contains__,
            backlog_pace=functools.cache(lambda _: TokenBucket(BACKLOG_SHARE * RATE, 1, clock)),
            complaints=TokenBucket(LOG_RATE, 1, clock),
            clock=clock,
            log=log,
            queue=an_open_queue(clock, Metrics(), THREADS),
            nodes=NodeRests(clock),
        )

    def _record(self, job: Raw, event: EmitEvent) -> None:
        self.events.append((uid_of(job), event.reason, event.message))

    def read_log(self, path: str, query: dict[str, Any], _seconds: float) -> bytes:
        """The log of a pod, by the job's name."""
        name = path.split("/")[-2].removesuffix("-worker-0")
        self.asked.append((self.clock.monotonic(), name, query))
        log = self.logs.get(name, LINE % (1, 1))
        self.meanwhile()
        if isinstance(log, Exception):
            raise log
        return log[: query["limitBytes"]]

    def add(self, name: str, namespace: str = "ns", node: str = "node-1", **spec: Any) -> Key:
        """A job that runs; its one worker is on this node."""
        job = a_job(name, uid=f"uid-{name}").with_workers(1, a_template(**spec))
        job.with_metadata(namespace=namespace).with_status(phase="Running", attempt=1)
        pod = a_pod(job.build()).bound(node).running().build()
        put(self.store, PADDLE_JOB, job.build())
        put(self.store, POD, pod)
        return Key(namespace, name)

    def watch_for_stalls(self, key: Key) -> Any:
        """Have the job ask for it."""
        job: Any = self.store.get(PADDLE_JOB, key)
        job["spec"] |= {"stallPolicy": {"afterSeconds": 120}}
        put(self.store, PADDLE_JOB, job)
        return job

    def make_pod_anew(self) -> None:
        """Another pod of the name stands in the place of the job's."""
        pod: Any = self.store.get(POD, Key("ns", "train-worker-0"))
        put(self.store, POD, pod | {"metadata": pod["metadata"] | {"uid": "another"}})

    def run(self, seconds: float) -> list[str]:
        """Read for so long; the jobs whose logs were asked for."""
        before, until = len(self.asked), self.clock.monotonic() + seconds
        while self.clock.monotonic() < until:
            self.reader.update()
            if self._has_due():
                self._read_next()
            else:
                self.clock.step(1)
        return [name for _, name, _ in self.asked[before:]]

    def _has_due(self) -> bool:
        queue = self.reader.queue
        with queue._changed:
            queue._take_due_locked()
            return bool(queue._waiting)

    def _read_next(self) -> None:
        key = self.reader.queue.get()
        assert key is not None
        self.reader.queue.file(key, Filing(after_seconds=self.reader._read(key), is_settled=True))

    def first_read(self, log: bytes) -> None:
        """Of a new job that has this log."""
        key = self.add(f"job-{len(self.asked)}")
        self.logs[key.name] = log
        self.reader.update()
        self.reader._read(key)

    def reading(self, key: Key) -> Any:
        """The fact of the job's next pass."""
        return self.memory.facts(key, f"uid-{key.name}").training


@pytest.fixture
def cluster(clock, log) -> Cluster:
    return Cluster(clock, log)


def test_reads_keep_to_the_pace_and_a_job_rests_between_two(cluster):
    for number in range(20):
        cluster.add(f"job-{number}")
    cluster.run(120)
    times = [at for at, _, _ in cluster.asked]
    assert max(Counter(map(math.floor, times)).values()) <= RATE
    of_one = [at for at, name, _ in cluster.asked if name == "job-7"]
    assert 3 <= len(of_one) <= 4
    assert min(b - a for a, b in itertools.pairwise(of_one)) >= PERIOD_SECONDS


def test_namespaces_take_turns_and_jobs_that_start_go_before_logs_of_theirs(cluster):
    for number in range(300):
        cluster.add(f"job-{number}", "big")
    cluster.add("small", "small")
    names = cluster.run(60)
    assert "small" in names[:2]
    assert names.count("small") == 2
    cluster.backlogged.add("big")
    assert 3 <= len(cluster.run(20)) - 1 <= 20 * RATE * BACKLOG_SHARE + 1
    cluster.backlogged.add("small")
    assert cluster.run(2 * PERIOD_SECONDS + 5).count("small") == 2
    cluster.backlogged.clear()
    assert len(cluster.run(20)) >= 18 * RATE


def test_a_job_is_told_of_what_matters_alone(cluster):
    key = cluster.add("train")
    bar = b"2026-01-02T03:04:%02d.000000001Z iter: %d/1000, loss: 0.5\n"
    for second, step, is_told in ((1, 500, True), (2, 501, False), (3, 510, True)):
        cluster.logs["train"] = bar % (second, step)
        cluster.told.clear()
        cluster.run(PERIOD_SECONDS + 1)
        assert cluster.told == ([key] if is_told else [])
    assert cluster.reading(key).progress.percent == 51


def test_a_node_that_hangs_rests_for_longer_each_time(cluster):
    cluster.add("hangs", node="lost")
    cluster.logs["hangs"] = Transient("no answer")
    cluster.add("lives", node="well")
    names = cluster.run(NODE_REST_SECONDS * 10)
    assert names.count("hangs") in (4, 5)
    assert names.count("lives") >= 19
    cluster.logs["hangs"] = LINE % (1, 1)
    assert "hangs" in cluster.run(NODE_REST_SECONDS * 10)
    assert cluster.run(PERIOD_SECONDS * 4).count("hangs") >= 3


def test_silence_is_what_was_seen_of_it(cluster):
    key = cluster.add("train")
    cluster.run(1)
    assert cluster.reading(key).silent_seconds == 0  # however old its last line is
    cluster.run(300)
    seen = cluster.reading(key).silent_seconds
    assert 240 < seen <= 300
    assert cluster.reading(key).stepless_seconds == seen
    cluster.logs["train"] = Transient("no answer", code=500)
    cluster.run(3000)
    cluster.logs["train"] = LINE % (1, 1)
    cluster.run(600)
    assert cluster.reading(key).silent_seconds < seen + 600
    cluster.logs["train"] += LINE % (2, 1)
    cluster.run(PERIOD_SECONDS)
    assert cluster.reading(key).silent_seconds == 0
    assert cluster.reading(key).stepless_seconds > seen


@pytest.mark.parametrize("error", [Unreachable("away"), Throttled("busy", retry_after=20.0)])
def test_the_api_servers_own_trouble_is_no_silence_of_any_job(cluster, error):
    first, second = cluster.add("first"), cluster.add("second", "other")
    cluster.run(1)
    cluster.logs |= {"first": error, "second": error}
    cluster.run(300)
    cluster.logs.clear()
    cluster.run(PERIOD_SECONDS + 61)
    readings = [cluster.reading(key).silent_seconds for key in (first, second)]
    assert max(readings) <= PERIOD_SECONDS + 61


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (Forbidden("no right to pods/log"), FORBIDDEN_SECONDS),
        (NotFound("no such pod"), PERIOD_SECONDS),
        (Invalid("the container waits"), PERIOD_SECONDS),
        (Throttled("busy", retry_after=40.0), 40.0),
        (Throttled("busy", retry_after=1e9), MAX_BUSY_SECONDS),
        (Unreachable("away"), PERIOD_SECONDS),
        (Transient("500", code=500), PERIOD_SECONDS),
        (ApiError("odd"), PERIOD_SECONDS),
        (RuntimeError("a mistake of ours"), PERIOD_SECONDS),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Exception) else "",
)
def test_a_failure_is_a_rest_and_no_crash(cluster, error, seconds):
    key = cluster.add("train")
    cluster.logs["train"] = error
    assert cluster.run(seconds) == ["train"]
    assert cluster.reading(key) is None
    assert cluster.told == []
    assert bool(cluster.events) == isinstance(error, Forbidden)
    cluster.logs["train"] = LINE % (1, 1)
    assert "train" in cluster.run(PERIOD_SECONDS)


NOT_READ = "progress and stalls are unknown, since the log is not read: "


@pytest.mark.parametrize(
    ("answer", "spec", "why"),
    [
        (b"x" * 10_000_000, {}, "the last line is longer than 64 KiB"),
        (Forbidden("no right to pods/log"), {}, "no right to pods/log"),
        (
            LINE % (1, 1),
            {"metadata": {"annotations": {"big": 140_000 * "x"}}},
            "the job is larger than 128 KiB",
        ),
    ],
    ids=["a line of 10 MB", "forbidden", "a job of 140 KB"],
)
def test_a_job_is_told_once_why_nothing_is_known_of_it(cluster, answer, spec, why):
    key = cluster.add("train", **spec)
    cluster.logs["train"] = answer
    cluster.run(2 * FORBIDDEN_SECONDS)
    assert cluster.events == [("uid-train", "LogNotRead", NOT_READ + why)]
    assert cluster.reading(key) is None


def test_another_pod_of_the_name_is_not_taken_for_the_one_that_was_read(cluster):
    key = cluster.add("train")

    def replace_the_pod() -> None:
        cluster.make_pod_anew()
        cluster.logs["train"] = LINE % (2, 2)

    cluster.meanwhile = replace_the_pod
    cluster.run(0.1)
    assert cluster.reading(key) is None
    cluster.run(PERIOD_SECONDS)
    assert (cluster.reading(key).progress.step, cluster.reading(key).progress.first_step) == (2, 2)


def test_what_was_read_of_a_former_pod_is_no_fact_and_of_none_is_forgotten(cluster):
    key = cluster.add("train")
    cluster.run(1)
    assert (cluster.reading(key).progress.step, cluster.reading(key).attempt) == (1, 1)
    cluster.make_pod_anew()
    assert cluster.reading(key) is None
    remove(cluster.store, POD, cluster.store.get(POD, Key("ns", "train-worker-0")))
    assert cluster.run(2 * PERIOD_SECONDS) == []
    assert cluster.reading(key) is None


@pytest.mark.parametrize("phase", ["Pending", "Restarting", "Suspended", "Completed"])
def test_only_running_jobs_are_read(cluster, phase):
    key = cluster.add("train")
    job = cluster.store.get(PADDLE_JOB, key)
    put(cluster.store, PADDLE_JOB, job | {"status": {"phase": phase, "attempt": 1}})
    assert cluster.run(60) == []


def ended(cluster: Cluster, **spec: Any) -> Key:
    """A job whose worker has ended; its pass asks for the end of the log."""
    key = cluster.add("train", **spec)
    job: Any = cluster.store.get(PADDLE_JOB, key)
    put(cluster.store, POD, a_pod(job).bound().ended(0).build())
    cluster.reader.read_end(key)
    return key


@pytest.mark.parametrize("phase", ["Pending", "Running", "Completing"])
def test_the_end_of_a_log_is_read_once_at_once(cluster, phase):
    key = ended(cluster)
    job = cluster.store.get(PADDLE_JOB, key)
    put(cluster.store, PADDLE_JOB, job | {"status": {"phase": phase, "attempt": 1}})
    assert cluster.run(5 * PERIOD_SECONDS) == ["train"]
    assert cluster.asked[0][0] < 1
    assert (cluster.reading(key).progress.step, cluster.reading(key).is_final) == (1, True)
    assert cluster.told[-1] == key
    assert cluster.memory.facts(key, "uid-train").waited[Wait.END_OF_LOG] == math.inf


def test_a_log_that_is_followed_is_read_to_its_end(cluster):
    key = cluster.add("train")
    cluster.run(1)
    assert not cluster.reading(key).is_final
    cluster.logs["train"] = LINE % (1, 1) + LINE % (2, 2)
    pod: Any = cluster.store.get(POD, Key("ns", "train-worker-0"))
    state = {"terminated": {"exitCode": 0}}
    status = {"phase": "Succeeded", "containerStatuses": [{"name": "paddle", "state": state}]}
    put(cluster.store, POD, pod | {"status": pod["status"] | status})
    cluster.reader.read_end(key)
    assert cluster.run(1) == ["train"]
    reading = cluster.reading(key)
    assert (reading.progress.first_step, reading.progress.step, reading.is_final) == (1, 2, True)


@pytest.mark.parametrize(
    ("error", "reads"),
    [(Forbidden("no"), 1), (Transient("no answer"), 2), (NotFound("no"), 1), (RuntimeError(), 1)],
    ids=repr,
)
def test_an_end_that_cannot_be_read_is_not_waited_for(cluster, error, reads):
    cluster.logs["train"] = error
    key = ended(cluster)
    assert cluster.run(READ_END_SECONDS) == ["train"] * reads
    assert cluster.run(2 * PERIOD_SECONDS) == []
    assert cluster.told == [key]
    assert cluster.reading(key) is None
    assert cluster.memory.facts(key, "uid-train").waited[Wait.END_OF_LOG] == math.inf


@pytest.mark.parametrize("error", [Transient("lost"), Unreachable("away"), Throttled("busy")])
def test_an_end_whose_read_fails_once_is_read_again_while_its_job_waits(cluster, error):
    cluster.logs["train"] = error
    cluster.meanwhile = cluster.logs.clear
    key = ended(cluster)
    assert cluster.run(READ_END_SECONDS) == ["train", "train"]
    assert (cluster.reading(key).progress.step, cluster.reading(key).is_final) == (1, True)


def test_nothing_is_read_for_a_job_that_has_ended_meanwhile_or_is_too_large(cluster):
    key = ended(cluster, metadata={"annotations": {"big": 140_000 * "x"}})
    assert cluster.run(60) == []
    assert cluster.told == [key]
    cluster.reader.read_end(key)
    job = cluster.store.get(PADDLE_JOB, key)
    put(cluster.store, PADDLE_JOB, job | {"status": {"phase": "Completed", "attempt": 1}})
    assert cluster.run(60) == []


def test_the_ends_of_a_namespaces_jobs_do_not_delay_anothers(cluster):
    for number in range(100):
        cluster.reader.read_end(cluster.add(f"job-{number}", "big"))
    cluster.add("small", "small")
    assert "small" in cluster.run(2)


def test_the_end_of_a_log_comes_before_logs_of_running_jobs(cluster):
    for number in range(100):
        cluster.add(f"job-{number}")
    cluster.run(1)
    ended(cluster)
    assert "train" in cluster.run(1)
    assert len({*cluster.run(2 * PERIOD_SECONDS)}) == 100


def test_the_trainer_is_read_wherever_it_stands(cluster):
    cluster.add("train", containers=SIDECARS)
    cluster.run(1)
    assert cluster.asked[0][2]["container"] == "paddle"


def test_fewer_lines_are_asked_for_where_they_are_long(cluster):
    key = cluster.add("train")
    long = b"2026-01-02T03:04:05.000000001Z " + 20 * 1024 * b"x"
    cluster.logs["train"] = b"\n".join(40 * [long])
    cluster.run(10)
    assert [query["tailLines"] for _, _, query in cluster.asked] == [40, 10, 2, 1]
    assert cluster.reading(key) is None
    cluster.run(PERIOD_SECONDS)
    assert cluster.asked[-1][2]["tailLines"] == 1  # as often as any other
    cluster.logs["train"] = LINE % (1, 1)
    cluster.run(4 * PERIOD_SECONDS)
    assert cluster.asked[-1][2]["tailLines"] == 40


def test_a_node_that_answers_too_much_has_answered(cluster):
    cluster.add("train")
    cluster.logs["train"] = Transient("no answer")
    cluster.run(1)
    cluster.logs["train"] = b"x" * MAX_TAIL_BYTES
    cluster.run(PERIOD_SECONDS + 10)
    asked = [query["tailLines"] for _, _, query in cluster.asked]
    assert asked == [40, 40, 10, 2, 1]


def test_a_job_gets_a_pass_when_it_stalls_and_while_it_is_stalled(cluster):
    key = cluster.add("train")
    job = cluster.watch_for_stalls(key)
    cluster.run(PERIOD_SECONDS)
    cluster.told.clear()
    cluster.run(60)
    assert cluster.told == []
    cluster.run(60)
    assert cluster.told
    condition = {"type": "TrainingStalled", "status": "True", "reason": "NoOutput"}
    put(cluster.store, PADDLE_JOB, job | {"status": job["status"] | {"conditions": [condition]}})
    cluster.logs["train"] = LINE % (2, 1)
    cluster.told.clear()
    cluster.run(PERIOD_SECONDS)
    assert cluster.told == [key]


def test_the_tails_of_workers_are_read_once_where_a_stall_is_suspected(cluster):
    key = cluster.add("train")
    cluster.watch_for_stalls(key)
    cluster.run(100)
    assert cluster.reading(key).tails == ()
    cluster.run(100)
    ((name, time, text),) = cluster.reading(key).tails
    assert (name, text) == ("train-worker-0", "epoch 1 step 1 loss 0.5")
    assert time is not None
    asked = [query["tailLines"] for _, _, query in cluster.asked]
    assert asked.count(1) == 1


@pytest.mark.parametrize("error", [Transient("no answer"), Throttled("busy", retry_after=60.0)])
def test_tails_that_cannot_be_read_are_a_rest_for_the_others_too(cluster, error):
    """Worker 0 is on another node than those after it, whose kubelet hangs."""
    key = cluster.add("train")
    job = cluster.watch_for_stalls(key)
    for index in range(1, 16):
        put(cluster.store, POD, a_pod(job, index=index).bound("node-2").running().build())
    cluster.logs |= {f"train-worker-{index}": error for index in range(1, 16)}
    cluster.run(180)
    tails = [name for _, name, query in cluster.asked if query["tailLines"] == 1]
    assert tails == ["train", "train-worker-1"]


def test_jobs_whose_logs_cannot_be_understood_do_not_fill_the_operators_log(cluster):
    for number in range(9):
        cluster.add(f"job-{number}")
        cluster.logs[f"job-{number}"] = RuntimeError("a mistake of ours")
    with capture_logs() as lines:
        cluster.run(PERIOD_SECONDS)
    assert len(cluster.asked) == 9
    assert [each["event"] for each in lines] == ["log_reader_raised"]


def test_the_tails_of_a_stall_come_out_of_the_share_of_its_namespace(cluster):
    """A job that falls silent for as long as it takes, speaks, and falls silent again."""
    key = cluster.add("loud", "a")
    job = cluster.watch_for_stalls(key)
    for index in range(1, 16):
        pod = a_pod(job, index=index).bound("node-1").running().build()
        put(cluster.store, POD, pod)
    for number in range(200):
        cluster.add(f"other-{number}", "b")
    cluster.run(400)
    names = [name.partition("-")[0] for _, name, _ in cluster.asked]
    of_tails = [at for at, (_, _, query) in enumerate(cluster.asked) if query["tailLines"] == 1]
    assert len(of_tails) == 16
    runs = [len(list(run)) for name, run in itertools.groupby(names) if name == "loud"]
    assert max(runs) == 1, "reads of one namespace in a row, while another waits"
    assert len(cluster.reading(key).tails) == 16
