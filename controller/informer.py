"""From a watch to the store and the queue.

Each watch event does two things: it changes the store, then adds the keys of the jobs that it
concerns. One thread per kind.
"""

from collections.abc import Callable

from api.objects import Raw
from controller.resources import PADDLE_JOB, VOLCANO_POD_GROUP, Resource
from controller.store import Entry, Key, Store, pack
from controller.trim import trim


class Informer:
    """Takes what a reflector reads of one kind."""

    def __init__(self, resource: Resource, store: Store, enqueue: Callable[[Key], None]) -> None:
        self.resource = resource
        self._store = store
        self._enqueue = enqueue

    def pack(self, obj: Raw) -> Entry:
        """The part of an object that the store keeps, packed; the rest can be freed at once."""
        return pack(self.resource, trim(self.resource, obj))

    def replace(self, entries: list[Entry], version: str) -> None:
        """A full list was read."""
        for entry in self._store.replace(self.resource, entries, version):
            self._wake(entry)

    def put(self, obj: Raw) -> None:
        """An object is new or changed."""
        entry = self.pack(obj)
        before = self._store.put(self.resource, entry)
        self._wake(entry)
        if before is not None and before.job != entry.job:
            self._wake(before)

    def remove(self, obj: Raw) -> None:
        """An object is gone."""
        entry = self.pack(obj)
        self._store.remove(self.resource, entry)
        self._wake(entry)

    def advance(self, version: str) -> None:
        """Every change up to this version has been seen."""
        self._store.advance(self.resource, version)

    def _wake(self, entry: Entry) -> None:
        if self.resource is PADDLE_JOB:
            self._enqueue(entry.key)
            return
        # A user's own PodGroup has no owner; it belongs to the job by its name.
        named = entry.key if self.resource is VOLCANO_POD_GROUP else None
        job = entry.job or named
        # A deleted job needs no pass, though thousands of its pods may still report; and a job that
        # is not seen yet is woken by its own event.
        if job is not None and self._store.has(PADDLE_JOB, job):
            self._enqueue(job)
