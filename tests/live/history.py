"""What has happened to the objects of one kind, not only what is there at the end.

A watch from the state at its beginning: no version in between is missed, however short it was. What
the API server tells when it is asked, a watch tells a little later: who reads it waits for that.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Self, TypeVar

from localcluster.client.informer import Informer
from localcluster.machine import clock
from tests.live import patience
from tests.live.lab import Lab

Raw = dict[str, Any]
Key = TypeVar("Key", bound=Hashable)


class History:
    """Every version of a namespace's objects of one kind, in order, while its block lasts."""

    def __init__(self, lab: Lab, api: str, plural: str) -> None:
        self._client = lab.cluster.client
        self._path = f"{api}/namespaces/{lab.namespace}/{plural}"
        self._lists: list[list[Raw]] = []
        self._told: list[tuple[str, Raw]] = []
        self._at: list[float] = []
        self._informer = Informer(self._client, self._path, self._lists.append, self._tell)

    def __enter__(self) -> Self:
        self._informer.start()
        assert self._informer.synced.wait(patience.SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._informer.stop()
        self._informer.join()

    def _tell(self, kind: str, thing: Raw) -> None:
        self._at.append(clock.monotonic())
        self._told.append((kind, thing))

    def events(self, prefix: str = "") -> Iterator[tuple[str, Raw]]:
        """(ADDED, MODIFIED or DELETED; the object) so far, of names that begin so."""
        listed = self._client.get(self._path)
        assert clock.wait_until(lambda: self._has_told(listed), patience.SECONDS), (
            "the watch is late"
        )
        assert len(self._lists) == 1, "the watch has missed versions"
        for kind, thing in list(self._told):
            if thing["metadata"]["name"].startswith(prefix):
                yield kind, thing

    def _has_told(self, listed: Raw) -> bool:
        """Whether the watch has told of every object in this list, and of those gone before it."""
        began = [("ADDED", thing) for thing in self._lists[0]]
        last = {thing["metadata"]["uid"]: (kind, thing) for kind, thing in began + self._told}
        told = {uid: version_of(thing) for uid, (_, thing) in last.items()}
        there = {thing["metadata"]["uid"]: version_of(thing) for thing in listed["items"]}
        stays = {uid for uid, (kind, _) in last.items() if kind != "DELETED"}
        gone = {uid for uid in stays - set(there) if told[uid] <= version_of(listed)}
        return not gone and all(told.get(uid, 0) >= version for uid, version in there.items())

    def first_seen(self, keys: Callable[[str, Raw], Iterable[Key]]) -> dict[Key, float]:
        """When the watch first told of each key that `keys` finds in its events, by the clock."""
        seen: dict[Key, float] = {}
        for (kind, thing), at in zip(list(self._told), self._at, strict=False):
            for key in keys(kind, thing):
                seen.setdefault(key, at)
        return seen

    def versions(self, name: str) -> list[Raw]:
        return [obj for _, obj in self.events(name) if obj["metadata"]["name"] == name]

    def phases(self, name: str) -> list[str]:
        """The phases that an object has gone through, each where it changed."""
        seen: list[str] = []
        for version in self.versions(name):
            phase = (version.get("status") or {}).get("phase", "")
            if phase and seen[-1:] != [phase]:
                seen.append(phase)
        return seen


def version_of(thing: Raw) -> int:
    """The resourceVersion of an object, or of a list."""
    return int(thing["metadata"]["resourceVersion"])
