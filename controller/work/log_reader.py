"""Reads the training's progress from the logs of running jobs, with --progress.

For each job, the last lines of its first worker are read, at most every 30 s, and all reads
together are limited to a rate. The result is stored in the job's memory. If the result is news
or the training has stalled, the job gets a pass. The operator chooses pod and container, and a log
is used only while its pod still has the same UID. No exception ends the loop.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from api.constants import LABEL_ATTEMPT, STALLS, TERMINAL_PHASES, Reason, Role
from api.job import pod_name
from api.objects import Raw, labels_of, uid_of
from api.ownership import Key, Owner
from api.spec import parse_stall_policy
from api.trainer import container_status, trainer_name
from api.training import StallPolicy, parse_progress
from controller.cache.store import Store
from controller.client.resources import PADDLE_JOB, POD
from controller.logs import Log
from controller.work.followed_log import FollowedLog
from controller.work.memory import JobMemory, first_worker
from controller.work.node_rests import NodeRests
from controller.workqueue.queue import Filing, WorkQueue
from controller.workqueue.rate_limiter import Batches, TokenBucket
from kube.client import Client
from kube.clock import Clock
from kube.errors import ApiError, Forbidden, Throttled, TooLarge, Transient, Unreachable
from kube.logs import read_tail
from reconcile.model.plan import EmitEvent
from reconcile.model.stall import find_stall
from reconcile.model.training import READ_PHASES
from reconcile.words.progress import Line, read_lines

THREADS = 4
"""Several threads, because one can hang with a node."""
AT_ONCE = 5
"""How many logs are read in a batch."""
PERIOD_SECONDS = 30.0
"""The least time between two reads of one log."""
SCAN_SECONDS = 2.0
"""How often the list of running jobs is updated."""
BACKLOG_SHARE = 0.2
"""The share of the reads for a namespace whose jobs wait for a worker."""
END_PAUSE_SECONDS = 10.0
"""The end of a log is read again after a pause that is no longer, for its job waits 20 s."""
MAX_TAILS = 16
_OVER = (*TERMINAL_PHASES, None)
"""The phases of jobs that have ended or are gone."""
MAX_JOB_BYTES = 128 << 10
"""The logs of larger jobs are not read: a read unpacks the job, to thirty times its size."""
FORBIDDEN_SECONDS = 300.0
BUSY_SECONDS = 5.0
MAX_BUSY_SECONDS = 60.0
"""If the API server asks for a pause, all reads pause, but not longer than this."""
LOG_RATE = 1 / 60
"""The most lines per second that this module logs about reads that failed."""


@dataclass(frozen=True, slots=True)
class LogTarget:
    """The log of a job's first worker, to be read. `is_stalled`: the job's status says so.

    `is_end`: the container has ended, so this read is the last one.
    """

    owner: Owner
    log: FollowedLog
    node: str
    container: str
    policy: StallPolicy | None
    is_stalled: bool
    is_end: bool


@dataclass(slots=True)
class LogReader:
    """The loops that the threads run.

    `queue` contains the running jobs; after a read, a job is added again with a delay. `add` gives
    a job a pass, `record` sends an Event about it. `pace` limits all reads, `backlog_pace` also
    those in a namespace whose jobs wait for a worker, and `complaints` the lines that are logged.
    """

    client: Client
    store: Store
    memory: JobMemory
    add: Callable[[Key], None]
    record: Callable[[Raw, EmitEvent], None]
    pace: Batches
    is_backlogged: Callable[[str], bool]
    backlog_pace: Callable[[str], TokenBucket]
    complaints: TokenBucket
    clock: Clock
    log: Log
    queue: WorkQueue
    nodes: NodeRests
    _stopped: threading.Event = field(default_factory=threading.Event)
    _broken_at: float = float("-inf")
    """When a read last failed for a reason that concerns all logs: no silence counts then."""
    _paused_until: float = float("-inf")
    """No log is read until then: the API server is busy or away. Any thread can set both fields."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Guards the fields below. Only the thread that took a job from the queue uses its log."""
    _logs: dict[Key, FollowedLog | None] = field(default_factory=dict)
    """The log of each running job; None before the first read."""
    _ending: set[Key] = field(default_factory=set)
    """The jobs that wait for the end of their log before they are complete."""
    _reported: set[Key] = field(default_factory=set)
    """The jobs with an Event that says why their log is not read."""

    def watch(self) -> None:
        """Keep the table of running jobs up to date until the stop."""
        while not self._stopped.is_set():
            self.update()
            self.clock.wait(self._stopped, SCAN_SECONDS)

    def update(self) -> None:
        """Update the table of running jobs, and queue those that are new in it."""
        phases = {key: each.phase for key, each in self.store.facts(PADDLE_JOB)}
        with self._lock:
            self._ending = {key for key in self._ending if phases.get(key) not in _OVER}
            running = {key for key, each in phases.items() if each in READ_PHASES} | self._ending
            begun = running - self._logs.keys()
            self._logs = {key: self._logs.get(key) for key in running}
            self._reported &= running
        for key in begun:
            self.queue.add(key)

    def read_end(self, key: Key) -> None:
        """Read the end of a job's log soon, as its workers have ended. Any thread can call this."""
        with self._lock:
            self._ending.add(key)
            self._logs.setdefault(key, None)
        self.queue.add(key)

    def run(self) -> None:
        """Read the logs of queued jobs until the stop."""
        while (key := self.queue.get()) is not None:
            self.queue.file(key, Filing(after_seconds=self._read(key), is_settled=True))

    def stop(self) -> None:
        """Make all loops return after their reads in progress. Any thread can call this."""
        self._stopped.set()
        self.queue.shut_down()

    def _read(self, key: Key) -> float | None:
        """Read a job's log; returns the seconds to the next read, None if the job does not run."""
        with self._lock:
            if key not in self._logs:
                return None
            is_end = key in self._ending
            is_later = not is_end and any(each.namespace == key.namespace for each in self._ending)
        if is_later:  # a job of its namespace waits to be complete
            return SCAN_SECONDS
        if (rest := self._paused_until - self.clock.monotonic()) > 0:
            return rest
        if self.is_backlogged(key.namespace) and not self.backlog_pace(key.namespace).try_take():
            return SCAN_SECONDS
        seconds = PERIOD_SECONDS
        try:
            target = self._find(key, is_end)
            seconds = PERIOD_SECONDS if target is None else self._visit(target)
        except Exception:
            if self.complaints.try_take():
                self.log.exception("log_reader_raised", job="/".join(key))
        if is_end and seconds > END_PAUSE_SECONDS:  # else it is to be read again, at once or soon
            self._note_end(key)
        return seconds

    def _note_end(self, key: Key) -> None:
        """Let the job complete: the end of its log was read, or could not be read."""
        with self._lock:
            self._ending.discard(key)
        if (entry := self.store.entry(PADDLE_JOB, key)) is not None:
            self.memory.note_end_read(key, entry.uid)
            self.add(key)

    def _find(self, key: Key, is_end: bool) -> LogTarget | None:
        """The log to read; None if the job is too large, or its first worker does not run. For the
        end of the log, the worker must have ended.
        """
        entry = self.store.entry(PADDLE_JOB, key)
        if entry is None or entry.is_deleting:
            return None
        owner = Owner(key, entry.uid)
        if len(entry.packed) > MAX_JOB_BYTES:
            self._report(owner, f"the job is larger than {MAX_JOB_BYTES >> 10} KiB")
            return None
        job = entry.unpack()
        spec: Raw = job.get("spec") or {}
        status: Raw = job.get("status") or {}
        attempt = int(status.get("attempt", 0))
        worker = spec.get(Role.WORKER) or {}
        container = trainer_name((worker.get("template") or {}).get("spec") or {})
        pod = self._pod(owner, attempt, first_worker(key).name)
        state = "terminated" if is_end else "running"
        if pod is None or state not in (container_status(pod, container).get("state") or {}):
            return None
        return LogTarget(
            owner=owner,
            log=self._follow(key, uid_of(pod), attempt, status),
            node=pod["spec"].get("nodeName", ""),
            container=container,
            policy=None if is_end else parse_stall_policy(spec.get("stallPolicy")),
            is_stalled=entry.facts is not None and entry.facts.waits_for in STALLS,
            is_end=is_end,
        )

    def _pod(self, owner: Owner, attempt: int, name: str) -> Raw | None:
        """The job's pod of this name and attempt, unless it is being deleted."""
        entry = self.store.entry(POD, Key(owner.key.namespace, name))
        if entry is None or entry.owner != owner or entry.is_deleting:
            return None
        pod = entry.unpack()
        return pod if labels_of(pod).get(LABEL_ATTEMPT) == str(attempt) else None

    def _follow(self, key: Key, pod_uid: str, attempt: int, status: Raw) -> FollowedLog:
        """What is known of this pod's log from earlier reads; at first, what the status says."""
        with self._lock:
            found = self._logs.get(key)
            if found is None or found.pod_uid != pod_uid:
                known = parse_progress(status.get("progress") or {})
                found = self._logs[key] = FollowedLog(pod_uid, attempt, known)
            return found

    def _visit(self, target: LogTarget) -> float:
        """Read a pod's log, unless reads of its node pause; returns the seconds until the next."""
        followed, policy = target.log, target.policy
        is_tail = followed.next_tail is not None and not target.is_end
        if is_tail and self._read_tail(target, followed.next_tail or 0):
            return 0.0
        if rest := self.nodes.seconds(target.node):
            followed.fail()
            return rest
        try:
            self.clock.wait(self._stopped, self.pace.reserve())
            at, now = self.clock.monotonic(), self.clock.now()
            log = self._get(target, 0, followed.lines)
        except TooLarge as error:
            self.nodes.note(target.node, True)
            if followed.ask_fewer():
                return 0.0
            self._report(target.owner, error.message)
            followed.fail()  # nobody knows whether the log grew
            return PERIOD_SECONDS
        except ApiError as error:
            followed.fail()
            pause = self._note_failure(target.owner, target.node, error)
            return pause if target.is_end else max(pause, PERIOD_SECONDS)
        self.nodes.note(target.node, True)
        reading = replace(followed.take(log, at, now, self._broken_at), is_final=target.is_end)
        stall = find_stall(policy, reading, now) if policy else None
        if stall is Reason.NO_OUTPUT and not reading.tails:
            followed.next_tail = 0
            return 0.0
        # If another pod has the name now, this was perhaps its log; passes ignore the reading.
        self.memory.note_training(target.owner.key, target.owner.uid, followed.pod_uid, reading)
        if followed.is_telling or stall or target.is_stalled:
            self.add(target.owner.key)
        return PERIOD_SECONDS

    def _get(self, target: LogTarget, worker: int, lines: int) -> bytes:
        """The last lines of a worker. Raises ApiError; a TooLarge if the lines are too long."""
        namespace, name = target.owner.key
        path = POD.path(namespace, pod_name(name, Role.WORKER, worker), "log")
        return read_tail(self.client, path, target.container, (lines,))

    def _note_failure(self, owner: Owner, node: str, error: ApiError) -> float:
        """Log a failed read; pause reads of its node or all reads, as the error requires.

        Returns the seconds until another read of this log can help.
        """
        if self.complaints.try_take():
            event = "logs_forbidden" if isinstance(error, Forbidden) else "log_not_read"
            job = "/".join(owner.key)
            self.log.warning(event, job=job, node=node, error=error.message)
        if isinstance(error, Forbidden):
            self._report(owner, error.message)
            return FORBIDDEN_SECONDS
        if isinstance(error, Throttled | Unreachable):
            self._broken_at = self.clock.monotonic()
            pause = min(MAX_BUSY_SECONDS, max(1.0, error.retry_after or BUSY_SECONDS))
            self._paused_until = max(self._paused_until, self._broken_at + pause)
            return pause
        if isinstance(error, Transient):
            return self.nodes.note(node, False)
        return PERIOD_SECONDS

    def _report(self, owner: Owner, why: str) -> None:
        """Record an Event that says why progress is unknown, once while the job runs."""
        with self._lock:
            if owner.key in self._reported:
                return
            self._reported.add(owner.key)
        job = {"metadata": {**owner.key._asdict(), "uid": owner.uid}}
        message = f"progress and stalls are unknown, since the log is not read: {why}"
        self.record(job, EmitEvent("Warning", Reason.LOG_NOT_READ, message))

    def _read_tail(self, target: LogTarget, first: int) -> bool:
        """Read the last line of the next of workers 0 to 15; False if there is none any more.

        Their times show which worker fell silent first. Each is a turn of its namespace: a tenant
        whose jobs stall again and again takes no other's reads.
        """
        for index in range(first, MAX_TAILS):
            name = pod_name(target.owner.key.name, Role.WORKER, index)
            pod = self._pod(target.owner, target.log.attempt, name)
            if pod is None:
                continue
            lines: list[Line] = []
            node = pod["spec"].get("nodeName", "")
            if not self.nodes.seconds(node):
                self.clock.wait(self._stopped, self.pace.reserve())
                try:
                    lines = read_lines(self._get(target, index, 1))
                    self.nodes.note(node, True)
                except ApiError as error:
                    self._note_failure(target.owner, node, error)
            tail = (name, lines[-1].time, lines[-1].text) if lines else (name, None, "")
            target.log.add_tail(index, tail)
            return True
        target.log.next_tail = None
        return False
