"""The cluster's objects, as the watches have shown them so far. Thread-safe.

One store for all kinds under one lock: no event is applied while a job and its children are read.
Objects are kept packed, as bytes: ten thousand finished jobs with their pods then take a third of
the memory, and the garbage collector does not have to visit them, which took seconds. Every caller
gets its own copy of an object.
"""

import marshal
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from api.constants import LABEL_ROLE, TERMINAL_PHASES, Condition, Reason, Role
from api.objects import Raw, condition_of, is_deleting, labels_of, name_of, namespace_of, uid_of
from api.ownership import Key, Owner, owner_of
from api.trainer import ACCELERATORS, count_accelerators, devices_of
from controller.client.resources import (
    CONFIG_MAP,
    NODE,
    PADDLE_JOB,
    POD,
    VOLCANO_POD_GROUP,
    Resource,
)

MAX_CONFIG_MAP_BYTES = 16 << 20
"""The most bytes for the ConfigMaps of one namespace; further ones are kept without data."""
# Python 3.12, unlike others, never frees an interned string. Both functions raise TypeError for
# anything but text, so a malformed object with a number instead of a text is left out.
intern = str.__str__ if sys.version_info[:2] == (3, 12) else sys.intern


@dataclass(frozen=True, slots=True)
class Family:
    """A job and everything it controls at one moment, and Volcano's PodGroup of the same name.

    `former_children` names the pods and ConfigMaps of former jobs of that name.
    """

    job: Raw
    children: dict[Resource, tuple[Raw, ...]]
    named_pod_group: Raw | None
    former_children: tuple[str, ...] = ()


class CensusFacts(NamedTuple):
    """A few facts about a job, a pod or a node, kept next to the packed object.

    With them, ten thousand jobs are counted without unpacking one. `group` is a job's mode or a
    pod's role. `host_ports` are the job's ports, empty once it has ended. `waits_for` is the reason
    why the job waits or has stalled, else empty, and `waits_since` is when that began. `gpus` are
    the accelerators of a job that has not ended: wanted, held and running; empty if it wants none.
    `devices` are the devices of a node.
    """

    phase: str
    group: str
    host_ports: tuple[int, ...] = ()
    waits_for: str = ""
    waits_since: str = ""
    gpus: tuple[int, ...] = ()
    devices: tuple[tuple[str, int], ...] = ()


class Entry(NamedTuple):
    """A packed object, with the values that are needed without unpacking it."""

    key: Key
    uid: str
    version: int
    owner: Owner | None
    is_deleting: bool
    facts: CensusFacts | None
    packed: bytes

    def unpack(self) -> Raw:
        """A copy of the object."""
        obj: Raw = marshal.loads(self.packed)
        return obj


def facts_of(
    resource: Resource, obj: Raw, accelerators: Sequence[str] = ACCELERATORS
) -> CensusFacts | None:
    """The facts about an object; None for a kind that is not counted."""
    status: Raw = obj.get("status") or {}
    if resource is PADDLE_JOB:
        phase = status.get("phase") or ""
        mode = intern(status.get("mode") or "")
        if phase in TERMINAL_PHASES:
            return CensusFacts(intern(phase), mode)
        ports = tuple((status.get("hostPorts") or {}).values())
        stalled = condition_of(obj, Condition.TRAINING_STALLED)
        running = condition_of(obj, Condition.RUNNING) or {}
        is_silent = running.get("reason") == Reason.NODE_LOST
        silent = {"reason": Reason.NODE_LOST} if is_silent else {}  # Running is older
        waits = condition_of(obj, Condition.PENDING) or stalled or silent
        since = str(waits.get("lastTransitionTime") or "")
        reason, gpus = intern(str(waits.get("reason") or "")), _gpus_of(obj, accelerators)
        return CensusFacts(intern(phase), mode, ports, reason, since, gpus)
    if resource is POD:
        role = labels_of(obj).get(LABEL_ROLE, "")
        return CensusFacts(intern(status.get("phase") or "Pending"), intern(role))
    if resource is NODE:
        devices = tuple((intern(name), number) for name, number in devices_of(obj).items())
        return CensusFacts("", "", devices=devices)
    return None


def _gpus_of(job: Raw, accelerators: Sequence[str]) -> tuple[int, ...]:
    """A job's wanted, held and running accelerators; empty if it wants none or is malformed."""
    wanted = held = running = 0
    try:
        for role in Role:
            spec = job["spec"].get(role) or {}
            counts = (job.get("status") or {}).get(role) or {}
            containers = spec.get("template", {}).get("spec", {}).get("containers") or ()
            each = sum(count_accelerators(container, accelerators) for container in containers)
            if each:
                wanted += each * spec.get("replicas", 1)
                running += each * counts.get("running", 0)
                held += each * (counts.get("running", 0) + counts.get("starting", 0))
        is_suspended = job["spec"].get("suspend")
    except (AttributeError, KeyError, TypeError, ValueError):
        return ()
    return (0 if is_suspended else wanted, held, running) if wanted else ()


def pack(resource: Resource, obj: Raw, accelerators: Sequence[str] = ACCELERATORS) -> Entry:
    """The store's entry for an object. Raises KeyError if the object has no name."""
    key, owner = key_of(obj), owner_of(obj)
    if resource is PADDLE_JOB:
        owner = None  # a job is nobody's child
    if owner is not None:
        owner = Owner(Key(key.namespace, intern(owner.key.name)), intern(owner.uid))
    return Entry(
        key=key,
        uid=uid_of(obj),
        version=version_of(obj),
        owner=owner,
        is_deleting=is_deleting(obj),
        facts=facts_of(resource, obj, accelerators),
        packed=marshal.dumps(obj),
    )


class Room:
    """Limits the memory that the ConfigMaps of each namespace take together."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()
        """The bytes taken, by namespace."""

    def admit(self, resource: Resource, entry: Entry) -> Entry:
        """The entry to keep: without data if the namespace's ConfigMaps take too much memory."""
        if resource is not CONFIG_MAP:
            return entry
        if self._taken[entry.key.namespace] + len(entry.packed) > MAX_CONFIG_MAP_BYTES:
            entry = entry._replace(packed=marshal.dumps(entry.unpack() | {"data": {}}))
        self._taken[entry.key.namespace] += len(entry.packed)
        return entry

    def release(self, resource: Resource, entry: Entry) -> None:
        """Give back the memory of an admitted object that is gone."""
        if resource is CONFIG_MAP:
            self._taken[entry.key.namespace] -= len(entry.packed)


class Store:
    """Objects by kind, key and job. Each of `namespaces` has a watch. No namespaces means all."""

    def __init__(
        self,
        resources: Iterable[Resource],
        namespaces: Iterable[str] = (),
        accelerators: Sequence[str] = ACCELERATORS,
    ) -> None:
        self.accelerators = accelerators
        self._namespaces = frozenset(namespaces)
        self._lock = threading.Lock()
        """Guards all that follows."""
        self._tables: dict[Resource, dict[Key, Entry]] = {r: {} for r in resources}
        self._owned: dict[Key, dict[tuple[Resource, Key], Entry]] = {}
        """The children of the job with this key, and of former jobs with the same key."""
        self._versions: dict[tuple[Resource, str], int] = {}
        """Versions by kind and watched namespace; the name is empty if all are watched at once."""
        self._room = Room()

    def replace(
        self, resource: Resource, entries: list[Entry], version: str, namespace: str = ""
    ) -> list[Entry]:
        """Store the full list of one namespace or all; returns removed, new and changed entries."""
        listed = {entry.key for entry in entries}
        with self._lock:
            table = self._tables[resource]
            known = (e for e in table.values() if namespace in ("", e.key.namespace))
            gone = [entry for entry in known if entry.key not in listed]
            changed = [entry for entry in entries if _has_changed(table.get(entry.key), entry)]
            for entry in gone:
                self._remove_locked(resource, entry.key)
            for entry in changed:
                self._put_locked(resource, entry)
            self._versions[resource, self._scope_of(namespace)] = parse_version(version)
        return gone + changed

    def put(self, resource: Resource, entry: Entry) -> Entry | None:
        """Store one object; returns the entry that it replaces, if any."""
        with self._lock:
            self._advance_locked(resource, entry.key.namespace, entry.version)
            return self._put_locked(resource, entry)

    def remove(self, resource: Resource, key: Key, version: int) -> Entry | None:
        """Remove an object, and note its last version as seen; returns its old entry, if any."""
        with self._lock:
            self._advance_locked(resource, key.namespace, version)
            return self._remove_locked(resource, key)

    def advance(self, resource: Resource, version: str, namespace: str = "") -> None:
        """Note, after a bookmark, that all changes in a namespace up to a version were seen."""
        with self._lock:
            self._advance_locked(resource, namespace, parse_version(version))

    def version(self, resource: Resource, namespace: str = "") -> int:
        """The resource version up to which the store has seen this kind in a namespace."""
        with self._lock:
            return self._versions.get((resource, self._scope_of(namespace)), 0)

    def entry(self, resource: Resource, key: Key) -> Entry | None:
        """The entry of one object, or None."""
        with self._lock:
            return self._tables[resource].get(key)

    def get(self, resource: Resource, key: Key) -> Raw | None:
        """A copy of one object, or None."""
        entry = self.entry(resource, key)
        return entry.unpack() if entry else None

    def facts(self, resource: Resource) -> list[tuple[Key, CensusFacts]]:
        """The facts about every job, every pod or every node."""
        with self._lock:
            table = self._tables[resource].items()
            return [(key, entry.facts) for key, entry in table if entry.facts is not None]

    def family(self, key: Key) -> Family | None:
        """A job with its children, or None if there is no such job."""
        with self._lock:
            job = self._tables[PADDLE_JOB].get(key)
            if job is None:
                return None
            owned, owner = list(self._owned.get(key, {}).items()), Owner(key, job.uid)
            named = self._tables.get(VOLCANO_POD_GROUP, {}).get(key)
        children: dict[Resource, list[Raw]] = {}
        former = []
        for (resource, (_, name)), entry in owned:
            if entry.owner == owner:
                children.setdefault(resource, []).append(entry.unpack())
            elif resource in (POD, CONFIG_MAP):
                former.append(f"{resource.kind} {name}")
        group, names = named.unpack() if named else None, tuple(sorted(former))
        return Family(job.unpack(), {r: tuple(each) for r, each in children.items()}, group, names)

    def _put_locked(self, resource: Resource, entry: Entry) -> Entry | None:
        before = self._remove_locked(resource, entry.key)
        entry = self._room.admit(resource, entry)
        self._tables[resource][entry.key] = entry
        if entry.owner is not None:
            self._owned.setdefault(entry.owner.key, {})[(resource, entry.key)] = entry
        return before

    def _remove_locked(self, resource: Resource, key: Key) -> Entry | None:
        before = self._tables[resource].pop(key, None)
        if before is not None:
            self._room.release(resource, before)
        if before is not None and before.owner is not None:
            owned = self._owned[before.owner.key]
            del owned[(resource, key)]
            if not owned:
                del self._owned[before.owner.key]
        return before

    def _advance_locked(self, resource: Resource, namespace: str, version: int) -> None:
        watch = (resource, self._scope_of(namespace))
        self._versions[watch] = max(version, self._versions.get(watch, 0))

    def _scope_of(self, namespace: str) -> str:
        """The scope of the watch that covers this namespace."""
        return namespace if namespace in self._namespaces else ""


def key_of(obj: Raw) -> Key:
    """An object's key."""
    return Key(intern(namespace_of(obj)), intern(name_of(obj)))


def version_of(obj: Raw) -> int:
    """An object's resource version, as a number."""
    return parse_version(obj["metadata"].get("resourceVersion", ""))


def parse_version(text: str) -> int:
    """A resource version as a number, 0 if it is not one. Versions of a kind can be compared."""
    return int(text) if text.isdecimal() else 0


def _has_changed(before: Entry | None, entry: Entry) -> bool:
    """Whether an object has changed. Equal versions prove nothing: a restored etcd repeats them."""
    if before is None or before.version != entry.version or before.uid != entry.uid:
        return True
    # The bytes of equal objects can differ.
    return before.packed != entry.packed and before.unpack() != entry.unpack()
