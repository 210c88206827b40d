"""What has happened to the objects of one kind, not only what is there at the end.

A watch from the state at its beginning: no version in between is missed, however short it was. What
the API server tells when it is asked, a watch tells a little later: who reads it waits for that.
"""

import functools
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from localcluster import clock
from tests.lab import WAIT_SECONDS, Lab

Raw = dict[str, Any]


class History:
    """Every version of a namespace's objects of one kind, in order, while its block lasts."""

    def __init__(self, lab: Lab, api: str, plural: str, file: Path) -> None:
        path = f"{api}/namespaces/{lab.namespace}/{plural}"
        version = lab.cluster.get(path)["metadata"]["resourceVersion"]
        watch = f"{path}?watch=1&resourceVersion={version}"
        self._list = functools.partial(lab.cluster.get, path)
        self._file = file
        with file.open("wb") as out:
            self._process = subprocess.Popen(
                [str(lab.cluster.bin_dir / "kubectl"), "get", "--raw", watch],
                env=lab.cluster.kubectl_environment(),
                stdout=out,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def events(self, prefix: str = "") -> Iterator[tuple[str, Raw]]:
        """(ADDED, MODIFIED or DELETED; the object) so far, of names that begin so."""
        listed = self._list()
        assert clock.wait_until(lambda: self._has_told(listed), WAIT_SECONDS), "the watch is late"
        for kind, thing in self._told():
            if thing["metadata"]["name"].startswith(prefix):
                yield kind, thing

    def _told(self) -> Iterator[tuple[str, Raw]]:
        """What the watch has told by now."""
        for line in self._file.read_text().splitlines(keepends=True):
            if not line.endswith("\n"):
                return
            event = json.loads(line)
            assert event["type"] != "ERROR", event
            yield event["type"], event["object"]

    def _has_told(self, listed: Raw) -> bool:
        """Whether the watch has told of every object in this list, and of those gone before it."""
        last = {thing["metadata"]["uid"]: (kind, thing) for kind, thing in self._told()}
        told = {uid: version_of(thing) for uid, (_, thing) in last.items()}
        there = {thing["metadata"]["uid"]: version_of(thing) for thing in listed["items"]}
        stays = {uid for uid, (kind, _) in last.items() if kind != "DELETED"}
        gone = {uid for uid in stays - set(there) if told[uid] <= version_of(listed)}
        return not gone and all(told.get(uid, 0) >= version for uid, version in there.items())

    def versions(self, name: str) -> list[Raw]:
        """The versions of one object."""
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
