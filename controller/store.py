"""What the cluster looks like, as far as the watches have told.

One store for all kinds under one lock, so that a snapshot of a job and its children is of one
moment. Objects are replaced, never changed: what was handed out stays as it was, and whoever has
it must not change it either. Any thread may call.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from api.constants import GROUP, KIND
from api.objects import Raw, controller_of, name_of, namespace_of
from controller.resources import PADDLE_JOB, VOLCANO_POD_GROUP, Resource


class Key(NamedTuple):
    """A job's place, and what the work queue holds."""

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


class Store:
    """Objects by kind and place, and by the UID of the job that controls them."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._lock = threading.Lock()
        """Guards all that follows."""
        self._tables: dict[Resource, dict[Key, Raw]] = {r: {} for r in resources}
        self._by_owner: dict[str, dict[tuple[Resource, Key], Raw]] = {}
        self._versions: dict[Resource, int] = {}

    def replace(self, resource: Resource, objects: list[Raw], version: str) -> list[Raw]:
        """Take a full list in; what it changed: new, changed and vanished objects."""
        with self._lock:
            table = self._tables[resource]
            listed = {key_of(obj): obj for obj in objects}
            gone = [obj for key, obj in table.items() if key not in listed]
            changed = [o for key, o in listed.items() if _is_news(table.get(key), o)]
            for obj in gone:
                self._remove_locked(resource, obj)
            for obj in changed:
                self._put_locked(resource, obj)
            self._versions[resource] = parse_version(version)
            return gone + changed

    def put(self, resource: Resource, obj: Raw) -> Raw | None:
        """Take one object in; the one that stood there before."""
        with self._lock:
            before = self._tables[resource].get(key_of(obj))
            self._put_locked(resource, obj)
            self._advance_locked(resource, version_of(obj))
            return before

    def remove(self, resource: Resource, obj: Raw) -> None:
        """Forget an object; its last version counts as seen."""
        with self._lock:
            self._remove_locked(resource, obj)
            self._advance_locked(resource, version_of(obj))

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
            return self._tables[resource].get(key)

    def all(self, resource: Resource) -> list[Raw]:
        """Every object of a kind."""
        with self._lock:
            return list(self._tables[resource].values())

    def count(self, resource: Resource) -> int:
        """How many objects of a kind there are."""
        with self._lock:
            return len(self._tables[resource])

    def family(self, key: Key) -> Family | None:
        """A job with its children, or None where there is no such job."""
        with self._lock:
            job = self._tables[PADDLE_JOB].get(key)
            if job is None:
                return None
            children: dict[Resource, list[Raw]] = {}
            for (resource, _), obj in self._by_owner.get(job["metadata"]["uid"], {}).items():
                children.setdefault(resource, []).append(obj)
            named = self._tables.get(VOLCANO_POD_GROUP, {}).get(key)
        return Family(job, {r: tuple(objects) for r, objects in children.items()}, named)

    def _put_locked(self, resource: Resource, obj: Raw) -> None:
        key = key_of(obj)
        before = self._tables[resource].get(key)
        if before is not None:
            self._unindex_locked(resource, key, before)
        self._tables[resource][key] = obj
        owner = owner_uid(obj)
        if owner:
            self._by_owner.setdefault(owner, {})[(resource, key)] = obj

    def _remove_locked(self, resource: Resource, obj: Raw) -> None:
        key = key_of(obj)
        before = self._tables[resource].pop(key, None)
        if before is not None:
            self._unindex_locked(resource, key, before)

    def _unindex_locked(self, resource: Resource, key: Key, obj: Raw) -> None:
        owner = owner_uid(obj)
        owned = self._by_owner.get(owner)
        if owned is None:
            return
        owned.pop((resource, key), None)
        if not owned:
            del self._by_owner[owner]

    def _advance_locked(self, resource: Resource, version: int) -> None:
        self._versions[resource] = max(version, self._versions.get(resource, 0))


def key_of(obj: Raw) -> Key:
    """An object's place."""
    return Key(namespace_of(obj), name_of(obj))


def owner_key(obj: Raw) -> Key | None:
    """The key of the PaddleJob that controls the object, or None."""
    owner = _controlling_job(obj)
    return Key(namespace_of(obj), str(owner["name"])) if owner else None


def owner_uid(obj: Raw) -> str:
    """The UID of the PaddleJob that controls the object, empty without one."""
    owner = _controlling_job(obj)
    return str(owner["uid"]) if owner else ""


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


def _is_news(before: Raw | None, obj: Raw) -> bool:
    if before is None:
        return True
    old, new = before["metadata"], obj["metadata"]
    return bool(
        old.get("resourceVersion") != new.get("resourceVersion") or old.get("uid") != new.get("uid")
    )
