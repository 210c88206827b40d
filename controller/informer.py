"""From a watch to the store and the queue: what an event does, and nothing more.

An event changes the store, then adds the keys of the jobs that it concerns. One thread per kind.
"""

from collections.abc import Callable

from api.objects import Raw
from controller.resources import PADDLE_JOB, VOLCANO_POD_GROUP, Resource
from controller.store import Key, Store, key_of, owner_key
from controller.trim import trim


class Informer:
    """Takes what a reflector reads of one kind."""

    def __init__(self, resource: Resource, store: Store, enqueue: Callable[[Key], None]) -> None:
        self.resource = resource
        self._store = store
        self._enqueue = enqueue

    def trim(self, obj: Raw) -> Raw:
        """The part of an object that is kept; a page of a list need not stay whole in memory."""
        return trim(self.resource, obj)

    def replace(self, objects: list[Raw], version: str) -> None:
        """A full list of trimmed objects was read."""
        for obj in self._store.replace(self.resource, objects, version):
            self._wake(obj)

    def put(self, obj: Raw) -> None:
        """An object is new or changed."""
        obj = self.trim(obj)
        before = self._store.put(self.resource, obj)
        self._wake(obj)
        if before is not None and owner_key(before) != owner_key(obj):
            self._wake(before)

    def remove(self, obj: Raw) -> None:
        """An object is gone."""
        obj = self.trim(obj)
        self._store.remove(self.resource, obj)
        self._wake(obj)

    def advance(self, version: str) -> None:
        """All up to this version has been told."""
        self._store.advance(self.resource, version)

    def _wake(self, obj: Raw) -> None:
        if self.resource is PADDLE_JOB:
            self._enqueue(key_of(obj))
            return
        job = owner_key(obj)
        if job is not None:
            self._enqueue(job)
        elif self.resource is VOLCANO_POD_GROUP and self._store.get(PADDLE_JOB, key_of(obj)):
            # A user's own PodGroup has no owner; it belongs to the job by its name.
            self._enqueue(key_of(obj))
