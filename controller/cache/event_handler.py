"""Applies watch events to the store and the queue.

An event first changes the store, then adds the key of its job to the queue, which decides when the
job gets its pass. Each watch has its own handler and thread.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from api.objects import Raw
from api.ownership import Key
from controller.cache.store import Entry, Store, pack, parse_version
from controller.cache.trim import trim
from controller.client.resources import PADDLE_JOB, VOLCANO_POD_GROUP, Resource
from kube.parsing import Unreadable


@dataclass(frozen=True, slots=True)
class EventHandler:
    """Handles one kind, in all namespaces if `namespace` is empty. `wake` adds a key to the queue.

    `awaiting` returns the jobs that wait until the store shows their writes of a kind.
    """

    resource: Resource
    store: Store
    wake: Callable[[Key], None]
    namespace: str = ""
    awaiting: Callable[[Resource], Iterable[Key]] = lambda _: ()

    def pack(self, obj: Raw) -> Entry:
        """The store's entry for an object. Raises any exception if the object is malformed."""
        if isinstance(obj, Unreadable):
            raise ValueError("it cannot be decoded")
        return pack(self.resource, trim(self.resource, obj), self.store.accelerators)

    def replace(self, entries: list[Entry], version: str) -> None:
        """Store a full list, and wake the jobs of all objects that are gone, new or changed."""
        for entry in self.store.replace(self.resource, entries, version, self.namespace):
            self._wake(entry)
        # These jobs perhaps wait for a child that was created and deleted between two lists.
        for job in self.awaiting(self.resource):
            self.wake(job)

    def put(self, obj: Raw) -> None:
        """Handle a new or changed object."""
        entry = self.pack(obj)
        before = self.store.put(self.resource, entry)
        if before is not None and before.owner != entry.owner:
            self._wake(before)
        self._wake(entry)

    def remove(self, obj: Raw) -> None:
        """Handle a deleted object."""
        entry = self.pack(obj)
        self.store.remove(self.resource, entry.key, entry.version)
        self._wake(entry)

    def discard(self, key: Key, version: str) -> None:
        """Drop an object that has become unreadable, rather than keep an old version."""
        before = self.store.remove(self.resource, key, parse_version(version))
        if before is not None:
            self._wake(before)

    def advance(self, version: str) -> None:
        """Note that every change up to this version has been seen."""
        self.store.advance(self.resource, version, self.namespace)

    def _wake(self, entry: Entry) -> None:
        if self.resource is PADDLE_JOB:
            self.wake(entry.key)
            return
        # A user's own PodGroup has no owner; it belongs to the job of the same name.
        named = entry.key if self.resource is VOLCANO_POD_GROUP else None
        job = entry.owner.key if entry.owner else named
        # No pass for a job that the store does not have. If it was deleted, its pods, which can be
        # thousands, still cause events. If it is new, its own event wakes it.
        if job is not None and self.store.entry(PADDLE_JOB, job):
            self.wake(job)
