"""From a watch to the store and the queue: what an event does, and nothing more.

An event changes the store, then adds the keys of the jobs that it concerns. One thread per kind.
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
        """The part of an object that is kept; a page of a list need not stay whole in memory."""
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
        """All up to this version has been told."""
        self._store.advance(self.resource, version)

    def _wake(self, entry: Entry) -> None:
        if self.resource is PADDLE_JOB:
            self._enqueue(entry.key)
            return
        # A user's own PodGroup has no owner; it belongs to the job by its name.
        named = entry.key if self.resource is VOLCANO_POD_GROUP else None
        job = entry.job or named
        # Without the job there is nothing to do, and thousands of pods may follow it; should it
        # only not be seen yet, its own event wakes it.
        if job is not None and self._store.has(PADDLE_JOB, job):
            self._enqueue(job)
