"""Creates that the API server refused, and when to try them again.

A quota, pod security, a webhook or a taken name refuses a child until somebody does something about
it. The reconcile turns these refusals into conditions. Meanwhile the job's creates pause, for 10 s
doubling to 5 min, and everything else about the job goes on. Any thread may call.
"""

import threading
from dataclasses import dataclass, field

from cachetools import TTLCache

from controller.clock import Clock
from controller.store import Key
from reconcile.plan import Refusal

FIRST_PAUSE_SECONDS = 10.0
MAX_PAUSE_SECONDS = 300.0
_EXPIRY_SECONDS = 3600.0
_MAX_JOBS = 100_000

Place = tuple[str, str]
"""A child's kind and name."""


@dataclass(slots=True)
class _Record:
    uid: str
    refusals: dict[Place, Refusal] = field(default_factory=dict)
    pause_seconds: float = 0.0
    resume_at: float = 0.0


class Refusals:
    """Refused creates, by job."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        """Guards _records."""
        self._records: TTLCache[Key, _Record] = TTLCache(
            _MAX_JOBS, _EXPIRY_SECONDS, timer=clock.monotonic
        )

    def of(self, job: Key, uid: str) -> tuple[Refusal, ...]:
        """What was refused to the job with this UID, not to an earlier one of the same name."""
        with self._lock:
            record = self._records.get(job)
            return tuple(record.refusals.values()) if record and record.uid == uid else ()

    def add(
        self, job: Key, uid: str, refusals: tuple[Refusal, ...], *, pauses: bool = True
    ) -> bool:
        """Note refusals and double the pause; whether any of them is new.

        Without `pauses` they are only noted: the server itself has said when to come back.
        """
        with self._lock:
            record = self._records.get(job)
            if record is None or record.uid != uid:
                record = _Record(uid)
            news = any(record.refusals.get((r.kind, r.name)) != r for r in refusals)
            record.refusals |= {(r.kind, r.name): r for r in refusals}
            if pauses:
                doubled = max(FIRST_PAUSE_SECONDS, record.pause_seconds * 2)
                record.pause_seconds = min(MAX_PAUSE_SECONDS, doubled)
                record.resume_at = self._clock.monotonic() + record.pause_seconds
            self._records[job] = record
            return news

    def pause_seconds(self, job: Key) -> float:
        """For how long nothing is to be created for the job."""
        with self._lock:
            record = self._records.get(job)
            return max(0.0, record.resume_at - self._clock.monotonic()) if record else 0.0

    def settle(self, job: Key, created: frozenset[Place]) -> None:
        """Forget the refusals of what could be created after all."""
        with self._lock:
            record = self._records.get(job)
            if record is None:
                return
            record.refusals = {p: r for p, r in record.refusals.items() if p not in created}
            if not record.refusals:
                del self._records[job]

    def forget(self, job: Key) -> None:
        """The job is gone."""
        with self._lock:
            self._records.pop(job, None)
