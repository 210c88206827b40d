"""What this process remembers of a job between passes: facts that the store does not show.

Own writes: a pass over a store that lacks the last pass's writes would make them again, or report
them twice. So each write is noted, and the job is held back until the store shows it. Resource
versions of one kind can be compared, so the store shows a write once it has reached its version; it
shows a deletion once the object is gone or has a deletion timestamp. The notes expire, because a
watch may hang. A pass on a stale store then does no harm: child names are fixed, and
deletes carry a UID.

Refusals: a quota, pod security, a webhook or a taken name refuses a child, or its deletion, until
somebody does something about it. The reconcile turns refusals into conditions. Meanwhile the job's
creates pause, for 10 s and then for 30 s each time, and everything else about the job goes on. Of
many such jobs ten a second have their turn, so their pauses are longer, up to 5 min.

A create that takes long to fail, as with a webhook that hangs, takes a worker for as long. So for a
while its refusal is that of other jobs of the namespace too which lack such a child and have not
been refused one themselves: each says so, and tries a moment later.

Port ranges that were just given: other jobs must not be given them before the store shows whose
they are.

Losing all of it, as a restart does, costs a few requests and no more. Any thread may call.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from cachetools import TTLCache

from api.objects import Raw
from api.ownership import Key
from controller.cache.store import Store, version_of
from controller.client.resources import Resource
from kube.clock import Clock
from reconcile.model.plan import Child, Create, Refusal

AWAIT_SECONDS = 120.0
"""Longer than the 70 s after which a half-open watch is found, and the store catches up."""
FIRST_PAUSE_SECONDS = 10.0
USUAL_PAUSE_SECONDS = 30.0
MAX_PAUSE_SECONDS = 300.0
PAUSE_SECONDS_PER_JOB = 0.1
"""Of all the jobs of a namespace that pause, so that they ask for no more than ten creates a second
together."""
HANG_SECONDS = 30.0
"""So long a create that took long to fail speaks for the others of its namespace."""
HANG_PAUSE_SECONDS = 2.0
"""So long a job that says so waits before it tries itself: the others are told meanwhile."""
_MAX_NAMESPACES = 10_000
_MAX_JOBS = 100_000
_KEEP_SECONDS = 3600.0
"""A job is forgotten when nothing has been noted of it for so long."""


@dataclass(slots=True)
class _Record:
    """What is remembered of one job. `uid` tells it from a former job of the same name."""

    uid: str = ""
    written: dict[Resource, int] = field(default_factory=dict)
    deleted: dict[tuple[Resource, Key], str] = field(default_factory=dict)
    awaited_until: float = 0.0
    refusals: dict[Child, Refusal] = field(default_factory=dict)
    pause_seconds: float = 0.0
    resume_at: float = 0.0
    status_written_at: datetime | None = None


class JobMemory:
    """Records by job, under one lock."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        """Guards all that follows."""
        self._paused: dict[str, set[Key]] = {}
        """By namespace, the jobs whose creates pause, or did until they were last tried."""
        self._records: TTLCache[Key, _Record] = TTLCache(
            _MAX_JOBS, _KEEP_SECONDS, timer=clock.monotonic
        )
        self._hangs: TTLCache[str, Refusal] = TTLCache(
            _MAX_NAMESPACES, HANG_SECONDS, timer=clock.monotonic
        )
        """By namespace, the latest create that took long to fail."""
        self._host_ports: dict[Key, tuple[int, ...]] = {}
        """Port ranges that a job's latest pass gave it."""

    def forget(self, job: Key) -> None:
        """The job is gone."""
        with self._lock:
            self._records.pop(job, None)
            self._host_ports.pop(job, None)
            self._unpause_locked(job)

    # Own writes

    def await_written(self, job: Key, resource: Resource, obj: Raw) -> None:
        """An object was created or patched; `obj` is the API server's answer."""
        version = version_of(obj)
        with self._lock:
            written = self._awaiting_locked(job).written
            written[resource] = max(version, written.get(resource, 0))

    def await_deleted(self, job: Key, resource: Resource, name: str, uid: str) -> None:
        """The deletion of an object was accepted."""
        with self._lock:
            deleted = self._awaiting_locked(job).deleted
            deleted[(resource, Key(job.namespace, name))] = uid

    def awaits_writes(self, job: Key) -> bool:
        """Whether the store has yet to show something that was written for the job."""
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

    # Refused creates

    def refusals(self, job: Key, uid: str) -> tuple[Refusal, ...]:
        """What was refused to the job with this UID."""
        with self._lock:
            record = self._records.get(job)
            return tuple(record.refusals.values()) if record and record.uid == uid else ()

    def add_refusals(
        self, job: Key, uid: str, refusals: tuple[Refusal, ...], *, pauses: bool = True
    ) -> bool:
        """Note refusals, and double the pause where it has passed; whether any of them is new.

        Without `pauses` they are only noted: the server itself has said when to come back.
        """
        with self._lock:
            record = self._of_uid_locked(job, uid)
            is_new = any(record.refusals.get(r.child) != r for r in refusals)
            record.refusals |= {r.child: r for r in refusals}
            if pauses and self._clock.monotonic() >= record.resume_at:
                self._paused.setdefault(job.namespace, set()).add(job)
                doubled = max(FIRST_PAUSE_SECONDS, record.pause_seconds * 2)
                record.pause_seconds = min(self._longest_pause_locked(job.namespace), doubled)
                record.resume_at = self._clock.monotonic() + record.pause_seconds
            return is_new

    def note_hang(self, namespace: str, refusal: Refusal) -> None:
        """A create took long to fail: others of the namespace and the kind may as well."""
        with self._lock:
            self._hangs[namespace] = refusal

    def join_hang(self, job: Key, uid: str, creates: Iterable[Iterable[Create]]) -> bool:
        """Let a job that lacks what hangs in its namespace say so, once, before it tries."""
        with self._lock:
            if (hang := self._hangs.get(job.namespace)) is None:
                return False
            lacking = (each for group in creates for each in group if each.kind == hang.kind)
            lacks, record = next(lacking, None), self._of_uid_locked(job, uid)
            if lacks is None or record.refusals:
                return False
            record.refusals[(hang.kind, lacks.name)] = replace(hang, name=lacks.name)
            record.resume_at = self._clock.monotonic() + HANG_PAUSE_SECONDS
            return True

    def pause_seconds(self, job: Key, uid: str) -> float:
        """For how long nothing is to be created for the job with this UID."""
        with self._lock:
            record = self._records.get(job)
            resume_at = record.resume_at if record and record.uid == uid else 0.0
            return max(0.0, resume_at - self._clock.monotonic())

    def drop_refusals(self, job: Key, done: frozenset[Child]) -> None:
        """Forget refusals of what was created or deleted after all, or is no longer wanted.

        A job without any does not count among those that pause.
        """
        with self._lock:
            record = self._records.get(job)
            if record is None or not record.refusals:
                return
            record.refusals = {c: r for c, r in record.refusals.items() if c not in done}
            if not record.refusals:
                self._end_pause_locked(job, record)

    # Status

    def note_status_written(self, job: Key, uid: str) -> None:
        """This process has just written the job's status."""
        with self._lock:
            self._of_uid_locked(job, uid).status_written_at = self._clock.now()

    def status_written_at(self, job: Key, uid: str) -> datetime | None:
        """When this process last wrote the status of the job with this UID."""
        with self._lock:
            record = self._records.get(job)
            return record.status_written_at if record and record.uid == uid else None

    # Port ranges

    def note_host_ports(self, job: Key, ports: tuple[int, ...]) -> None:
        """These are the ranges that the job's latest pass gives it: the store may not show them."""
        with self._lock:
            self._host_ports[job] = ports
            if not ports:
                del self._host_ports[job]

    def noted_host_ports(self) -> dict[Key, tuple[int, ...]]:
        """What the latest passes gave, by job."""
        with self._lock:
            return dict(self._host_ports)

    def _touched_locked(self, job: Key) -> _Record:
        # Taken out and put back, because the expiry counts from the last time it was put in.
        record = self._records.pop(job, None) or _Record()
        self._records[job] = record
        return record

    def _of_uid_locked(self, job: Key, uid: str) -> _Record:
        record = self._touched_locked(job)
        if record.uid != uid:
            record.uid, record.refusals, record.status_written_at = uid, {}, None
            self._end_pause_locked(job, record)
        return record

    def _end_pause_locked(self, job: Key, record: _Record) -> None:
        record.pause_seconds = record.resume_at = 0.0
        self._unpause_locked(job)

    def _unpause_locked(self, job: Key) -> None:
        paused = self._paused.get(job.namespace, set())
        paused.discard(job)
        if not paused:
            self._paused.pop(job.namespace, None)

    def _longest_pause_locked(self, namespace: str) -> float:
        together = len(self._paused[namespace]) * PAUSE_SECONDS_PER_JOB
        return min(MAX_PAUSE_SECONDS, max(USUAL_PAUSE_SECONDS, together))

    def _awaiting_locked(self, job: Key) -> _Record:
        record = self._touched_locked(job)
        record.awaited_until = self._clock.monotonic() + AWAIT_SECONDS
        return record

    def _has_arrived(self, namespace: str, record: _Record) -> bool:
        written = record.written.items()
        if any(self._store.version(r, namespace) < version for r, version in written):
            return False
        return not any(self._store.is_standing(*at, uid) for at, uid in record.deleted.items())
