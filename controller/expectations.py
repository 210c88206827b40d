"""Expectations: our own writes that the store does not show yet.

A pass over a store that lacks the last pass's writes would make them again, or report them twice.
So each write is noted by job, and the job is held back until the store shows it. Resource versions
of one kind can be compared, so the store shows a write once it has reached its version; it shows a
deletion once the object is gone or has a deletion timestamp.

Notes expire, because a watch may hang. What a pass can then do on a stale store is harmless: child
names are fixed, and deletes carry a UID. Any thread may call.
"""

import threading
from dataclasses import dataclass, field

from cachetools import TTLCache

from api.objects import Raw
from controller.clock import Clock
from controller.resources import Resource
from controller.store import Key, Store, version_of

EXPIRY_SECONDS = 120.0
"""Longer than the 70 s after which a half-open watch is found, and the store catches up."""
_MAX_JOBS = 100_000


@dataclass(slots=True)
class _Notes:
    versions: dict[Resource, int] = field(default_factory=dict)
    deleted: dict[tuple[Resource, Key], str] = field(default_factory=dict)


class Expectations:
    """The writes that the store has yet to show, by job."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._lock = threading.Lock()
        """Guards _notes."""
        self._notes: TTLCache[Key, _Notes] = TTLCache(
            _MAX_JOBS, EXPIRY_SECONDS, timer=clock.monotonic
        )

    def expect_written(self, job: Key, resource: Resource, obj: Raw) -> None:
        """An object was created or patched; `obj` is the API server's answer."""
        version = version_of(obj)
        with self._lock:
            notes = self._notes_locked(job)
            notes.versions[resource] = max(version, notes.versions.get(resource, 0))

    def expect_deleted(self, job: Key, resource: Resource, name: str, uid: str) -> None:
        """The deletion of an object was accepted."""
        with self._lock:
            notes = self._notes_locked(job)
            notes.deleted[(resource, Key(job.namespace, name))] = uid

    def is_fulfilled(self, job: Key) -> bool:
        """Whether the store shows all that was written for the job, or the notes have expired."""
        with self._lock:
            notes = self._notes.get(job)
            if notes is None:
                return True
            if not self._has_arrived(notes):
                return False
            del self._notes[job]
            return True

    def forget(self, job: Key) -> None:
        """The job is gone."""
        with self._lock:
            self._notes.pop(job, None)

    def _notes_locked(self, job: Key) -> _Notes:
        notes = self._notes.pop(job, None) or _Notes()
        # Put back rather than changed in place: the expiry counts from the newest write.
        self._notes[job] = notes
        return notes

    def _has_arrived(self, notes: _Notes) -> bool:
        if any(self._store.version(r) < version for r, version in notes.versions.items()):
            return False
        return not any(self._store.is_standing(*place, uid) for place, uid in notes.deleted.items())
