"""Reads the training's progress from the logs of running jobs, with --progress.

For each job, the last lines of its first worker are read, every 30 s at most, and all reads
together are limited to a rate. The result is stored in the job's memory, and the job gets a pass if
it matters. The operator chooses pod and container, and a log counts only while its pod still has
the same UID. No exception leaves this module's loop.
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from api.constants import LABEL_ATTEMPT, Reason, Role
from api.job import pod_name
from api.objects import Raw, labels_of, uid_of
from api.ownership import Key, Owner
from api.spec import parse_stall_policy
from api.trainer import container_status, trainer_name
from api.training import StallPolicy, TrainingProgress, parse_progress
from controller.cache.store import Store
from controller.client.resources import PADDLE_JOB, POD
from controller.logs import Log
from controller.work.followed_log import FollowedLog
from controller.work.log_turns import PERIOD_SECONDS, LogTurns
from controller.work.memory import JobMemory
from controller.workqueue.rate_limiter import TokenBucket
from kube.client import Client
from kube.clock import Clock
from kube.errors import ApiError, Forbidden, Throttled, TooLarge, Transient, Unreachable
from kube.logs import MAX_BYTES, read_tail
from reconcile.model.plan import EmitEvent
from reconcile.model.stall import find_stall
from reconcile.model.training import READ_PHASES, Reading, Tail
from reconcile.words.progress import read_lines

THREADS = 4
"""Several threads, because one may wait for a node that hangs."""
SCAN_SECONDS = 2.0
"""How often the list of running jobs is updated."""
MAX_TAILS = 16
MAX_TAIL_BYTES = 8 << 10
MAX_JOB_BYTES = 128 << 10
"""A larger job is not read: it would take thirty times as much memory each time."""
FORBIDDEN_SECONDS = 300.0
BUSY_SECONDS = 5.0
MAX_BUSY_SECONDS = 60.0
"""The longest pause that we make because an API server asks for it."""
LOG_SECONDS = 60.0
"""The time between two log lines about logs that could not be read."""


@dataclass(frozen=True, slots=True)
class Target:
    """The pod to read: the first worker of a job in an attempt. `workers` is how many there are.

    `known` is the progress in the status, perhaps written by another leader.
    """

    owner: Owner
    attempt: int
    pod_uid: str
    node: str
    container: str
    workers: int
    policy: StallPolicy | None
    known: TrainingProgress


@dataclass(slots=True)
class LogReader:
    """The loop that the reading threads run.

    `add` gives a job a pass, `record` an Event; `pace` limits the reads.
    """

    client: Client
    store: Store
    memory: JobMemory
    add: Callable[[Key], None]
    record: Callable[[Raw, EmitEvent], None]
    pace: TokenBucket
    clock: Clock
    log: Log
    turns: LogTurns
    _stopped: threading.Event = field(default_factory=threading.Event)
    _broken_at: float = float("-inf")
    """When a read last failed for a reason that holds for all logs: then no silence counts. Any
    thread sets it, without the lock."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Guards the fields below; a log in the table belongs to the thread that took its job."""
    _logs: dict[Key, FollowedLog] = field(default_factory=dict)
    _reported: set[Key] = field(default_factory=set)
    """The jobs that have an Event about their log that is not read."""
    _scanned_at: float = float("-inf")
    _complained_at: float = float("-inf")

    def run(self) -> None:
        """Read until the stop."""
        while not self._stopped.is_set():
            self._scan()
            key = self.turns.take()
            if key is None:
                self.clock.wait(self._stopped, SCAN_SECONDS / 2)
            else:
                self.read(key)

    def stop(self) -> None:
        """End the threads, after their reads under way. Any thread may call."""
        self._stopped.set()

    def read(self, key: Key) -> None:
        """Read the log of a job that `LogTurns.take` returned, and put the job back."""
        seconds = PERIOD_SECONDS
        try:
            target = self._find(key)
            if target is None:
                self._forget(key)
            else:
                seconds = self._visit(target)
        except Exception:
            self.log.exception("log_reader_raised", job=f"{key.namespace}/{key.name}")
        finally:
            self.turns.put_back(key, seconds)

    def _scan(self) -> None:
        with self._lock:
            now = self.clock.monotonic()
            if now - self._scanned_at < SCAN_SECONDS:
                return
            self._scanned_at = now
            facts = self.store.facts(PADDLE_JOB)
            running = {key for key, each in facts if each.phase in READ_PHASES}
            self._logs = {key: log for key, log in self._logs.items() if key in running}
            self._reported &= running
        self.turns.update(running)

    def _find(self, key: Key) -> Target | None:
        """The pod to read, if it runs."""
        entry = self.store.entry(PADDLE_JOB, key)
        if entry is None or entry.is_deleting:
            return None
        if len(entry.packed) > MAX_JOB_BYTES:
            self._report(Owner(key, entry.uid), f"the job is larger than {MAX_JOB_BYTES >> 10} KiB")
            return None
        job, owner = entry.unpack(), Owner(key, entry.uid)
        spec: Raw = job.get("spec") or {}
        status: Raw = job.get("status") or {}
        attempt = int(status.get("attempt", 0))
        worker = spec.get(Role.WORKER) or {}
        container = trainer_name((worker.get("template") or {}).get("spec") or {})
        pod = self._pod(owner, attempt, pod_name(key.name, Role.WORKER, 0))
        if pod is None or "running" not in (container_status(pod, container).get("state") or {}):
            return None
        known = parse_progress(status.get("progress") or {})
        return Target(
            owner=owner,
            attempt=attempt,
            pod_uid=uid_of(pod),
            node=pod["spec"].get("nodeName", ""),
            container=container,
            workers=worker.get("replicas", 1),
            policy=parse_stall_policy(spec.get("stallPolicy")),
            known=known if known.attempt == attempt else TrainingProgress(),
        )

    def _pod(self, owner: Owner, attempt: int, name: str) -> Raw | None:
        """The job's pod of this name and attempt, unless it is being deleted."""
        entry = self.store.entry(POD, Key(owner.key.namespace, name))
        if entry is None or entry.owner != owner or entry.is_deleting:
            return None
        pod = entry.unpack()
        return pod if labels_of(pod).get(LABEL_ATTEMPT) == str(attempt) else None

    def _visit(self, target: Target) -> float:
        """Read a pod's log, unless its node rests; returns the seconds until the next read."""
        followed = self._followed(target)
        if rest := self.turns.rest_of(target.node):
            followed.fail()
            return rest
        try:
            self.clock.wait(self._stopped, self.pace.reserve())
            at, now = self.clock.monotonic(), self.clock.now()
            log = self._get(target, 0, followed.lines, MAX_BYTES)
        except TooLarge as error:
            self.turns.note_node(target.node, True)
            if followed.ask_fewer():
                return 0.0
            self._report(target.owner, error.message)
            followed.fail()  # nobody sees whether the end of its last line is new
            return PERIOD_SECONDS
        except ApiError as error:
            followed.fail()
            return self._note_failure(target, error)
        self.turns.note_node(target.node, True)
        now_there = self._find(target.owner.key)
        if now_there is None or now_there.pod_uid != target.pod_uid:  # the log may be another's
            return 0.0
        reading = followed.take(log, at, now, self._broken_at)
        if _is_silent(reading, target.policy, now):
            reading = replace(reading, tails=tuple(self._read_tails(target)))
            followed.reading = reading
        self.memory.note_training(target.owner.key, target.owner.uid, reading)
        if followed.is_telling or target.policy:
            self.add(target.owner.key)
        return PERIOD_SECONDS

    def _followed(self, target: Target) -> FollowedLog:
        with self._lock:
            found = self._logs.get(target.owner.key)
            if found is None or found.pod_uid != target.pod_uid:
                found = FollowedLog(target.pod_uid, target.attempt, target.known)
                self._logs[target.owner.key] = found
            return found

    def _forget(self, key: Key) -> None:
        """Forget the job's reading: its pod is gone."""
        with self._lock:
            self._logs.pop(key, None)
        self.memory.forget_training(key)

    def _get(self, target: Target, worker: int, lines: int, max_bytes: int) -> bytes:
        """The last lines of a worker. Raises ApiError, TooLarge if they are too long."""
        namespace, name = target.owner.key
        path = POD.path(namespace, pod_name(name, Role.WORKER, worker), "log")
        return read_tail(self.client, path, target.container, lines, max_bytes)

    def _note_failure(self, target: Target, error: ApiError) -> float:
        """Log why a log was not read, and pause reads of its node, or all reads, depending on the
        error.
        """
        self._complain(target, error)
        if isinstance(error, Forbidden):
            self._report(target.owner, error.message)
            return FORBIDDEN_SECONDS
        if isinstance(error, Throttled | Unreachable):
            self._broken_at = self.clock.monotonic()
            asked = error.retry_after or BUSY_SECONDS
            self.turns.pause(min(MAX_BUSY_SECONDS, max(1.0, asked)))
        elif isinstance(error, Transient):
            self.turns.note_node(target.node, False)
        return PERIOD_SECONDS

    def _report(self, owner: Owner, why: str) -> None:
        """Emit an Event, once per job, that says why its progress is unknown."""
        with self._lock:
            if owner.key in self._reported:
                return
            self._reported.add(owner.key)
        job = {"metadata": {**owner.key._asdict(), "uid": owner.uid}}
        message = f"progress and stalls are unknown, since the log is not read: {why}"
        self.record(job, EmitEvent("Warning", Reason.LOG_NOT_READ, message))

    def _complain(self, target: Target, error: ApiError) -> None:
        with self._lock:
            now = self.clock.monotonic()
            if now - self._complained_at < LOG_SECONDS:
                return
            self._complained_at = now
        job = "/".join(target.owner.key)
        event = "logs_forbidden" if isinstance(error, Forbidden) else "log_not_read"
        self.log.warning(event, job=job, node=target.node, error=error.message)

    def _read_tails(self, target: Target) -> Iterator[Tail]:
        """The last line of each of the first workers, which shows who fell silent first."""
        for index in range(min(MAX_TAILS, target.workers)):
            name = pod_name(target.owner.key.name, Role.WORKER, index)
            pod = self._pod(target.owner, target.attempt, name)
            if pod is None:
                continue
            if self._stopped.is_set() or self.turns.rest_of(pod["spec"].get("nodeName", "")):
                yield name, None, ""
                continue
            self.clock.wait(self._stopped, self.pace.reserve())
            try:
                lines = read_lines(self._get(target, index, 1, MAX_TAIL_BYTES))
            except ApiError:
                lines = []
            yield (name, lines[-1].time, lines[-1].text) if lines else (name, None, "")


def _is_silent(reading: Reading, policy: StallPolicy | None, now: datetime) -> bool:
    """Whether the job has fallen silent, so that the other workers' logs must be read."""
    if policy is None or reading.tails:
        return False
    return find_stall(policy, reading, now, has_stepped=True) is Reason.NO_OUTPUT
