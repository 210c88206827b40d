"""From a watch to the store and the queue.

Each watch event does two things: it changes the store, then adds the keys of the jobs that it
concerns. Most events ask for nothing by themselves: a pod that comes up while its peers are not as
far yet, a child that is the operator's own work, a status that is its own word. For these the key
is added for later, and one pass sees them all. What a list shows of jobs that have ended and hold
nothing comes last: at a start there may be thousands, and nobody waits for them. One thread per
kind.
"""

from collections.abc import Callable
from typing import Protocol

from api.constants import TERMINAL_PHASES
from api.objects import Raw
from controller.facts import RUNS, WAITS, JobFacts, PodFacts
from controller.resources import CONFIG_MAP, PADDLE_JOB, VOLCANO_POD_GROUP, Resource
from controller.store import Entry, Key, Store, pack
from controller.trim import trim

_ENDED_PODS = ("Succeeded", "Failed")


class Queue(Protocol):
    """What an informer needs of the work queue."""

    def add(self, key: Key) -> None:
        """Wake the job."""

    def add_later(self, key: Key) -> None:
        """Wake the job for what can wait."""

    def add_last(self, key: Key) -> None:
        """Wake the job for what nobody waits for."""

    def is_crowded(self) -> bool:
        """Whether jobs for which somebody waits wait for a worker."""


class Informer:
    """Takes what a reflector reads of one kind."""

    def __init__(self, resource: Resource, store: Store, queue: Queue) -> None:
        self.resource = resource
        self.is_crowded = queue.is_crowded
        self._store = store
        self._queue = queue

    def pack(self, obj: Raw) -> Entry:
        """The part of an object that the store keeps, packed; the rest can be freed at once."""
        return pack(self.resource, trim(self.resource, obj))

    def replace(self, entries: list[Entry], version: str) -> None:
        """A full list was read."""
        queue = self._queue
        for entry in self._store.replace(self.resource, entries, version):
            self._wake(entry, queue.add_last if self._can_come_last(entry) else queue.add)

    def put(self, obj: Raw) -> None:
        """An object is new or changed."""
        entry = self.pack(obj)
        before = self._store.put(self.resource, entry)
        if before is not None and before.job != entry.job:
            self._wake(before, self._queue.add)
        can_wait = self._can_wait(before, entry)
        self._wake(entry, self._queue.add_later if can_wait else self._queue.add)

    def remove(self, obj: Raw) -> None:
        """An object is gone."""
        entry = self.pack(obj)
        self._store.remove(self.resource, entry)
        self._wake(entry, self._queue.add)

    def advance(self, version: str) -> None:
        """Every change up to this version has been seen."""
        self._store.advance(self.resource, version)

    def _can_come_last(self, entry: Entry) -> bool:
        """Whether an object is what an ended job leaves, and not what it has yet to clean up."""
        job = self._job_of(entry)
        facts = self._store.facts_of(PADDLE_JOB, job) if job is not None else None
        has_ended = isinstance(facts, JobFacts) and facts.phase in TERMINAL_PHASES
        if not has_ended or entry.is_deleting:
            return False
        if isinstance(entry.facts, PodFacts):
            return entry.facts.phase in _ENDED_PODS
        return self.resource in (PADDLE_JOB, CONFIG_MAP) or not entry.owner

    def _can_wait(self, before: Entry | None, entry: Entry) -> bool:
        """Whether the change asks for no pass of its own."""
        if before is not None and (before.uid, before.owner) != (entry.uid, entry.owner):
            return False
        old, new = before.facts if before else None, entry.facts
        if isinstance(new, PodFacts):
            return self._is_on_its_way(old.step if isinstance(old, PodFacts) else WAITS, entry, new)
        if isinstance(new, JobFacts):
            is_same = isinstance(old, JobFacts) and old.generation == new.generation
            return is_same and not entry.is_deleting
        return before is None and bool(entry.owner)

    def _is_on_its_way(self, old_step: int | None, entry: Entry, pod: PodFacts) -> bool:
        """Whether a pod comes up as it should, and not all its peers are as far."""
        if pod.step is None or old_step is None:
            return False
        if pod.step == old_step:
            return True
        slowest = self._store.slowest_step(entry.owner)
        return slowest is not None and slowest < min(pod.step, RUNS)

    def _job_of(self, entry: Entry) -> Key | None:
        # A user's own PodGroup has no owner; it belongs to the job by its name.
        named = entry.key if self.resource is VOLCANO_POD_GROUP else None
        return entry.job or named

    def _wake(self, entry: Entry, enqueue: Callable[[Key], None]) -> None:
        if self.resource is PADDLE_JOB:
            enqueue(entry.key)
            return
        job = self._job_of(entry)
        # A deleted job needs no pass, though thousands of its pods may still report; and a job that
        # is not seen yet is woken by its own event.
        if job is not None and self._store.has(PADDLE_JOB, job):
            enqueue(job)
