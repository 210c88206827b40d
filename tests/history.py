"""What has happened to the objects of one kind, not only what is there at the end.

A watch from the state at its beginning: no version in between is missed, however short it was.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from tests.lab import Lab

Raw = dict[str, Any]


class History:
    """Every version of a namespace's objects of one kind, in order, while its block lasts."""

    def __init__(self, lab: Lab, api: str, plural: str, file: Path) -> None:
        path = f"{api}/namespaces/{lab.namespace}/{plural}"
        version = lab.cluster.get(path)["metadata"]["resourceVersion"]
        watch = f"{path}?watch=1&resourceVersion={version}"
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
        for line in self._file.read_text().splitlines(keepends=True):
            if not line.endswith("\n"):
                return
            event = json.loads(line)
            assert event["type"] != "ERROR", event
            if event["object"]["metadata"]["name"].startswith(prefix):
                yield event["type"], event["object"]

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
