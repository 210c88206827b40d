"""The cluster's objects, as far as the watches have shown them.

One store for all kinds under one lock, so that a snapshot of a job and its children is of one
moment. Objects are kept packed, as bytes: ten thousand finished jobs with their pods then take a
third of the memory, and the garbage collector does not have to walk them, which took seconds.
Whoever asks for an object gets a copy. It is still read-only, because several readers may share it.
Any thread may call.
"""

import marshal
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from sys import intern
from typing import NamedTuple

from api.constants import GROUP, KIND
from api.objects import Raw, controller_of, is_deleting, name_of, namespace_of, uid_of
from controller.facts import RUNS, Facts, PodFacts, facts_of
from controller.resources import PADDLE_JOB, VOLCANO_POD_GROUP, Resource


class Key(NamedTuple):
    """A job's namespace and name: what the work queue holds."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Family:
    """A job and all that it controls, at one moment.

    `named_pod_group` is the PodGroup with the job's name, whoever made it.
    """

    job: Raw
    children: dict[Resource, tuple[Raw, ...]]
    named_pod_group: Raw | None


class Entry(NamedTuple):
    """An object, packed, with what is needed of it without unpacking.

    `job` is the key of the job that it concerns: its own for a job, else that of the job that
    controls it. `owner` is the UID of the controlling job, empty where there is none.
    """

    key: Key
    uid: str
    version: int
    job: Key | None
    owner: str
    is_deleting: bool
    facts: Facts
    packed: bytes

    def unpack(self) -> Raw:
        """A copy of the object."""
        obj: Raw = marshal.loads(self.packed)
        return obj


def pack(resource: Resource, obj: Raw) -> Entry:
    """What the store keeps of an object. Raises KeyError on one without a name."""
    owner = _controlling_job(obj)
    key = key_of(obj)
    concerned = key if resource is PADDLE_JOB else None
    return Entry(
        key=key,
        uid=uid_of(obj),
        version=version_of(obj),
        job=Key(key.namespace, intern(str(owner["name"]))) if owner else concerned,
        owner=intern(str(owner["uid"])) if owner else "",
        is_deleting=is_deleting(obj),
        facts=facts_of(resource, obj),
        packed=marshal.dumps(obj),
    )


class Store:
    """Objects by kind and key, and by the UID of the job that controls them."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._lock = threading.Lock()
        """Guards all that follows."""
        self._tables: dict[Resource, dict[Key, Entry]] = {r: {} for r in resources}
        self._by_owner: dict[str, dict[tuple[Resource, Key], Entry]] = {}
        self._steps: dict[str, list[int]] = {}
        """By the owner's UID: how many of its pods wait, have an address, run."""
        self._versions: dict[Resource, int] = {}

    def replace(self, resource: Resource, entries: list[Entry], version: str) -> list[Entry]:
        """Take a full list in; the objects that it changed: vanished, new and changed ones."""
        listed = {entry.key for entry in entries}
        with self._lock:
            table = self._tables[resource]
            gone = [entry for key, entry in table.items() if key not in listed]
            changed = [entry for entry in entries if _is_news(table.get(entry.key), entry)]
            for entry in gone:
                self._remove_locked(resource, entry.key)
            for entry in changed:
                self._put_locked(resource, entry)
            self._versions[resource] = parse_version(version)
        return gone + changed

    def put(self, resource: Resource, entry: Entry) -> Entry | None:
        """Take one object in; the one that stood there before, if any."""
        with self._lock:
            before = self._tables[resource].get(entry.key)
            self._put_locked(resource, entry)
            self._advance_locked(resource, entry.version)
            return before

    def remove(self, resource: Resource, entry: Entry) -> None:
        """Forget an object; its last version counts as seen."""
        with self._lock:
            self._remove_locked(resource, entry.key)
            self._advance_locked(resource, entry.version)

    def advance(self, resource: Resource, version: str) -> None:
        """All up to this version has been seen, without a change of ours: a bookmark."""
        with self._lock:
            self._advance_locked(resource, parse_version(version))

    def version(self, resource: Resource) -> int:
        """Up to which resource version the store shows this kind."""
        with self._lock:
            return self._versions.get(resource, 0)

    def get(self, resource: Resource, key: Key) -> Raw | None:
        """One object, or None."""
        with self._lock:
            entry = self._tables[resource].get(key)
        return entry.unpack() if entry else None

    def has(self, resource: Resource, key: Key) -> bool:
        """Whether there is such an object."""
        with self._lock:
            return key in self._tables[resource]

    def is_standing(self, resource: Resource, key: Key, uid: str) -> bool:
        """Whether the object with this UID is there and is not being deleted."""
        with self._lock:
            entry = self._tables[resource].get(key)
            return entry is not None and entry.uid == uid and not entry.is_deleting

    def slowest_step(self, owner: str) -> int | None:
        """How far the last of an owner's pods has come up; RUNS at most, None without such pods."""
        with self._lock:
            tally = self._steps.get(owner, ())
            return next((step for step, count in enumerate(tally) if count), None)

    def all(self, resource: Resource) -> list[Raw]:
        """Every object of a kind."""
        with self._lock:
            entries = list(self._tables[resource].values())
        return [entry.unpack() for entry in entries]

    def facts_of(self, resource: Resource, key: Key) -> Facts:
        """The facts about one object, None where there is no such object."""
        with self._lock:
            entry = self._tables[resource].get(key)
            return entry.facts if entry else None

    def facts(self, resource: Resource) -> list[tuple[Key, Facts]]:
        """The facts about every object of a kind."""
        with self._lock:
            return [(key, entry.facts) for key, entry in self._tables[resource].items()]

    def family(self, key: Key) -> Family | None:
        """A job with its children, or None where there is no such job."""
        with self._lock:
            job = self._tables[PADDLE_JOB].get(key)
            if job is None:
                return None
            owned = list(self._by_owner.get(job.uid, {}).items())
            named = self._tables.get(VOLCANO_POD_GROUP, {}).get(key)
        children: dict[Resource, list[Raw]] = {}
        for (resource, _), entry in owned:
            children.setdefault(resource, []).append(entry.unpack())
        return Family(
            job.unpack(),
            {resource: tuple(objects) for resource, objects in children.items()},
            named.unpack() if named else None,
        )

    def _put_locked(self, resource: Resource, entry: Entry) -> None:
        self._remove_locked(resource, entry.key)
        self._tables[resource][entry.key] = entry
        if entry.owner:
            self._by_owner.setdefault(entry.owner, {})[(resource, entry.key)] = entry
            self._tally_locked(entry, 1)

    def _remove_locked(self, resource: Resource, key: Key) -> None:
        before = self._tables[resource].pop(key, None)
        owned = self._by_owner.get(before.owner) if before is not None else None
        if before is None or owned is None:
            return
        if owned.pop((resource, key), None) is not None:
            self._tally_locked(before, -1)
        if not owned:
            del self._by_owner[before.owner]
            self._steps.pop(before.owner, None)

    def _tally_locked(self, entry: Entry, count: int) -> None:
        if isinstance(entry.facts, PodFacts) and entry.facts.step is not None:
            tally = self._steps.setdefault(entry.owner, [0] * (RUNS + 1))
            tally[min(entry.facts.step, RUNS)] += count

    def _advance_locked(self, resource: Resource, version: int) -> None:
        self._versions[resource] = max(version, self._versions.get(resource, 0))


def key_of(obj: Raw) -> Key:
    """An object's place."""
    return Key(intern(namespace_of(obj)), intern(name_of(obj)))


def _controlling_job(obj: Raw) -> Raw | None:
    owner = controller_of(obj)
    if owner is None or owner.get("kind") != KIND:
        return None
    return owner if str(owner.get("apiVersion", "")).startswith(f"{GROUP}/") else None


def version_of(obj: Raw) -> int:
    """An object's resource version, as a number."""
    return parse_version(obj["metadata"].get("resourceVersion", ""))


def parse_version(text: str) -> int:
    """A resource version as a number; versions of one kind can be compared."""
    return int(text) if text.isdecimal() else 0


def _is_news(before: Entry | None, entry: Entry) -> bool:
    return before is None or before.version != entry.version or before.uid != entry.uid
