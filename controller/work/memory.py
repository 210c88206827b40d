"""What this process remembers of a job between passes: facts that the store does not show.

Own writes: if the store does not show the last pass's writes yet, a pass would repeat them, or
report them twice. So each write is noted, and the job waits until the store shows it. The store
shows a write when it has reached the write's version, because versions of one kind can be compared.
It shows a deletion when the object is gone or has a deletion timestamp. The notes expire, because a
watch can hang. A pass on a stale store then does no harm: child names are fixed, and deletes
contain a UID.

Refusals: a quota, pod security, a webhook or a taken name prevents a write of a child, until
somebody removes the cause. This module stores what was refused, how often in a row and how long
ago. `reconcile` decides what to do about it.

A restart loses this memory, which costs only a few requests. Thread-safe.
"""

import math
import threading
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from cachetools import TTLCache

from api.constants import Role
from api.job import pod_name
from api.objects import Raw
from api.ownership import Key
from controller.cache.store import Store, version_of
from controller.client.resources import POD, Resource
from controller.work.result import PERSISTENT_SECONDS, Result
from kube.clock import Clock
from kube.errors import YoungKind
from reconcile.model.plan import Child, Plan, Refusal, Wait
from reconcile.model.training import Reading

AWAIT_SECONDS = 120.0
"""The time until notes expire. A watch that hangs is replaced earlier, after 70 s."""
DENIED_SECONDS = 10.0
"""After this long without the right to write any status, the operator is not ready."""
_MAX_NAMESPACES = 10_000
_MAX_JOBS = 100_000
_KEEP_SECONDS = 3600.0
"""A job is forgotten when nothing has been noted of it for this long."""


class Remembered(NamedTuple):
    """The fields of `Observed` that come from here, under the same names."""

    refusals: tuple[Refusal, ...]
    refused_times: int
    refused_seconds: float
    paused_in_namespace: int
    slow_create: Refusal | None
    slow_seconds: float
    status_written_at: datetime | None
    training: Reading | None
    waited: dict[Wait, float]


class Lesson(NamedTuple):
    """Whether a pass has met a new refusal, and whether the job should report it."""

    is_new: bool = False
    is_reported: bool = False


@dataclass(slots=True)
class _Record:
    """The memory of one job. A former job of the same name has a different `uid`."""

    uid: str = ""
    written: dict[Resource, int] = field(default_factory=dict)
    deleted: dict[tuple[Resource, Key], str] = field(default_factory=dict)
    awaited_until: float = 0.0
    refusals: dict[Child, Refusal] = field(default_factory=dict)
    refused_times: int = 0
    refused_at: float = -math.inf
    failing_since: float | None = None
    status_written_at: datetime | None = None
    training: tuple[str, Reading] | None = None
    """The UID of the pod whose log was read, and what was read."""
    waits: dict[Wait, float] = field(default_factory=dict)
    """Since when passes wait for something; minus infinity if it has come."""


class JobMemory:
    """Records by job, under one lock."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        """Guards all that follows."""
        self._refused: dict[str, set[Key]] = {}
        """By namespace, the jobs that have refusals."""
        now, keep = clock.monotonic, _KEEP_SECONDS
        self._records: TTLCache[Key, _Record] = TTLCache(_MAX_JOBS, keep, now)
        self._slow: TTLCache[str, tuple[Refusal, float]] = TTLCache(_MAX_NAMESPACES, keep, now)
        """By namespace, the latest create that took long to fail, and when that was."""

        self._denied: tuple[Key, float] | None = None
        """The first job whose status we had no right to write since the last success, and when."""

    def problems(self) -> list[str]:
        """A line if the right to write statuses has been missing for a while.

        It does not name the job, because anybody in the cluster can read the line.
        """
        with self._lock:
            denied, now = self._denied, self._clock.monotonic()
        if denied is None or now - denied[1] < DENIED_SECONDS:
            return []
        return [f"no right to patch paddlejobs/status in namespace {denied[0].namespace}"]

    def forget(self, job: Key) -> None:
        """Forget a job that is gone."""
        with self._lock:
            if self._denied and self._denied[0] == job:
                self._denied = None
            self._records.pop(job, None)
            self._note_refused_locked(job, False)

    # Own writes

    def await_written(self, job: Key, resource: Resource, obj: Raw) -> None:
        """Note that an object was created or patched; `obj` is the API server's answer."""
        version = version_of(obj)
        with self._lock:
            written = self._awaiting_locked(job).written
            written[resource] = max(version, written.get(resource, 0))

    def await_deleted(self, job: Key, resource: Resource, name: str, uid: str) -> None:
        """Note that the deletion of an object was accepted."""
        with self._lock:
            deleted = self._awaiting_locked(job).deleted
            deleted[(resource, Key(job.namespace, name))] = uid

    def awaiting(self, resource: Resource) -> list[Key]:
        """The jobs that wait until the store shows what they wrote or deleted of a kind."""
        with self._lock:
            return [
                job
                for job, record in self._records.items()
                if resource in record.written or any(kind is resource for kind, _ in record.deleted)
            ]

    def awaits_writes(self, job: Key) -> bool:
        """Whether the store does not show all writes for the job yet.

        If it does, or if the notes have expired, the notes are dropped.
        """
        with self._lock:
            record = self._records.get(job)
            if record is None or not (record.written or record.deleted):
                return False
            late = self._clock.monotonic() >= record.awaited_until
            if not late and not self._has_arrived(job.namespace, record):
                return True
            record.written.clear()
            record.deleted.clear()
            return False

    def facts(self, job: Key, uid: str) -> Remembered:
        """The facts about the job with this UID, and about its namespace."""
        with self._lock:
            now, found = self._clock.monotonic(), self._records.get(job)
            record = found if found and found.uid == uid else _Record()
            slow, slow_at = self._slow.get(job.namespace, (None, now))
            return Remembered(
                refusals=tuple(record.refusals.values()),
                refused_times=record.refused_times,
                refused_seconds=now - record.refused_at,
                paused_in_namespace=len(self._refused.get(job.namespace, ())),
                slow_create=slow,
                slow_seconds=now - slow_at,
                status_written_at=record.status_written_at,
                training=self._training_locked(job, record),
                waited={wait: now - since for wait, since in record.waits.items()},
            )

    def learn(self, job: Key, uid: str, plan: Plan, result: Result) -> Lesson:
        """Store the refusals of a pass, and forget those that no longer apply.

        While creates pause, nothing is reported, because a webhook can word each refusal
        differently. While the store lacks our own writes, nothing is reported either, because no
        pass decides on a stale store.
        """
        with self._lock:
            lasting = result.failed if self._lasts_locked(job, uid, result) else None
            every = (*plan.assumed, *result.refusals, *([lasting] if lasting else ()))
            met = {refusal.child: refusal for refusal in every}
            if (slow := result.slow_create) is not None:
                self._slow[job.namespace] = slow, self._clock.monotonic()
            found = self._records.get(job)
            if plan.waits or (found and found.waits):
                found = self._of_uid_locked(job, uid)
                since = self._clock.monotonic() - result.seconds  # as the plan counts from there
                found.waits = {wait: found.waits.get(wait, since) for wait in plan.waits}
            if not met and not (found and found.refusals):
                return Lesson()
            record = self._of_uid_locked(job, uid)
            done = plan.moot | result.created | result.deleted | result.patched
            known = {child: each for child, each in record.refusals.items() if child not in done}
            record.refusals = met | known if plan.is_paused else known | met
            if not record.refusals:
                record.refused_times = 0
            elif met and not plan.is_paused:
                record.refused_times += result.is_answered  # neither a timeout nor throttled
                if result.is_answered or plan.assumed:
                    record.refused_at = self._clock.monotonic()
            self._note_refused_locked(job, bool(record.refusals))
            is_new = any(known.get(child) != each for child, each in met.items())
        reports = (is_new or bool(result.refusals)) and not (plan.is_paused or plan.assumed)
        return Lesson(is_new, reports and not self.awaits_writes(job))

    def note_status_written(self, job: Key, uid: str) -> None:
        """Note that this process has just written the job's status."""
        with self._lock:
            self._denied = None
            self._of_uid_locked(job, uid).status_written_at = self._clock.now()

    def note_training(self, job: Key, uid: str, pod_uid: str, reading: Reading) -> None:
        """Store what was read of the first worker's log, unless a new job has the name by now."""
        with self._lock:
            known = self._records.get(job)
            if known is None or known.uid in ("", uid):
                self._of_uid_locked(job, uid).training = pod_uid, reading

    def note_end_read(self, job: Key, uid: str) -> None:
        """Note that the end of the log was read, or is not to be waited for."""
        with self._lock:
            self._of_uid_locked(job, uid).waits[Wait.END_OF_LOG] = -math.inf

    def note_status_denied(self, job: Key) -> None:
        """Note that the operator has no right to write the job's status.

        Not for a refusal by admission, which affects only this job: the operator stays ready.
        """
        with self._lock:
            self._denied = self._denied or (job, self._clock.monotonic())

    def _touched_locked(self, job: Key) -> _Record:
        # Removed and inserted again, because the time to live counts from the last insertion.
        record = self._records.pop(job, None) or _Record()
        self._records[job] = record
        return record

    def _of_uid_locked(self, job: Key, uid: str) -> _Record:
        record = self._touched_locked(job)
        if record.uid != uid:
            record.uid, record.refusals, record.status_written_at = uid, {}, None
            record.refused_times, record.refused_at = 0, -math.inf
            record.failing_since, record.training, record.waits = None, None, {}
            self._note_refused_locked(job, False)
        return record

    def _training_locked(self, job: Key, record: _Record) -> Reading | None:
        """The reading; None if the pod with that log is gone: the next pod has a new log."""
        pod_uid, reading = record.training or ("", None)
        there = self._store.entry(POD, first_worker(job)) if reading else None
        return reading if there is not None and there.uid == pod_uid else None

    def _lasts_locked(self, job: Key, uid: str, result: Result) -> bool:
        """Whether the job's writes have failed for long, up to the pass that just ended."""
        if not result.errors:
            if (found := self._records.get(job)) is not None:
                found.failing_since = None
            return False
        record, now = self._of_uid_locked(job, uid), self._clock.monotonic()
        if record.failing_since is None:
            record.failing_since = now - result.seconds
        asked = max(error.retry_after or 0.0 for error in result.errors)
        is_young = any(isinstance(error, YoungKind) for error in result.errors)  # lasts 30 s
        return is_young or max(asked, now - record.failing_since) >= PERSISTENT_SECONDS

    def _note_refused_locked(self, job: Key, has_refusals: bool) -> None:
        jobs = self._refused.setdefault(job.namespace, set())
        (jobs.add if has_refusals else jobs.discard)(job)
        if not jobs:
            del self._refused[job.namespace]

    def _awaiting_locked(self, job: Key) -> _Record:
        record = self._touched_locked(job)
        record.awaited_until = self._clock.monotonic() + AWAIT_SECONDS
        return record

    def _has_arrived(self, namespace: str, record: _Record) -> bool:
        written = record.written.items()
        if any(self._store.version(r, namespace) < version for r, version in written):
            return False
        found = ((self._store.entry(*at), uid) for at, uid in record.deleted.items())
        return not any(e and e.uid == uid and not e.is_deleting for e, uid in found)


def first_worker(job: Key) -> Key:
    """The pod whose log is read: worker 0."""
    return Key(job.namespace, pod_name(job.name, Role.WORKER, 0))
