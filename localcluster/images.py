"""The image table: image name -> program folders, entry point, arguments and environment.

Read again whenever a file changed, so that an image added while the cluster runs can be pulled.
"""

import functools
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from localcluster.build import ensure_binaries
from localcluster.environments import CHECKOUT, LOCKS, ensure_environment, is_ready
from localcluster.errors import LocalClusterError
from localcluster.report import Report

DEFAULT_TABLE = Path(__file__).with_name("images.yaml")
FIELDS = {"folders", "workdir", "command", "args", "environment", "env"}
# The reference grammar of container registries: host, path of lower-case names, tag, digest.
NAME = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
REFERENCE = re.compile(
    r"(?P<repository>(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]+)?/)?"
    rf"{NAME}(?:/{NAME})*)"
    r"(?::\w[\w.-]{0,127})?(?:@[a-z0-9]+:[0-9a-f]{32,})?"
)


@dataclass(frozen=True)
class Image:
    """What stands behind one image name; `folders` by their paths in the container.

    `command` is what image builders call the entry point; `args` what follows it unless the
    container gives a command or arguments of its own.
    """

    name: str
    folders: dict[str, Path] = field(default_factory=dict)
    workdir: str = "/"
    command: list[str] = field(default_factory=list)
    args: list[str] = field(default_factory=list)
    environment: str = "system"
    env: dict[str, str] = field(default_factory=dict)

    @property
    def is_present(self) -> bool:
        """Whether all that it needs is on this machine, so that no pull is due."""
        return self.environment not in LOCKS or is_ready(self.environment)

    def prepare(self, report: Report) -> list[Path]:
        """Make the environment if need be; the folders that the container must see for it.

        Raises LocalClusterError.
        """
        if self.environment in LOCKS:
            return [ensure_environment(self.environment, report), Path(sys.base_prefix)]
        if self.environment == "operator":
            return [Path(sys.prefix), Path(sys.base_prefix)]
        if self.environment == "cluster":
            return [ensure_binaries(report)]
        return []

    def programs(self, folders: list[Path]) -> Path | None:
        """Of the prepared folders, what comes first in PATH."""
        if self.environment == "cluster":
            return folders[0]
        return folders[0] / "bin" if folders else None


def repository_of(name: str) -> str | None:
    """The repository of an image name; None for what is no image name."""
    match = REFERENCE.fullmatch(name)
    if match is None or "//" in name or match["repository"] != match["repository"].lower():
        return None
    return match["repository"]


class ImageTable:
    """Tables in order of precedence, the project's own last. Any thread may ask."""

    def __init__(self, files: list[Path]) -> None:
        self._files = [*files, DEFAULT_TABLE]
        self.find("")  # a table that cannot be read is told at once

    def find(self, name: str) -> Image | None:
        """The image, or None if no table has it. Raises LocalClusterError."""
        tables = [_read_table(file, file.stat().st_mtime_ns) for file in self._files]
        names = (name, repository_of(name))
        return next((table[each] for each in names for table in tables if each in table), None)


@functools.cache
def _read_table(file: Path, _changed_at: int) -> dict[str, Image]:
    """One table as it was changed last. Raises LocalClusterError."""
    try:
        entries = (yaml.safe_load(file.read_text()) or {}).get("images") or {}
    except (OSError, yaml.YAMLError, AttributeError) as error:
        raise LocalClusterError(f"{file}: {error}") from error
    root = CHECKOUT if file == DEFAULT_TABLE else file.resolve().parent
    return {name: _read_entry(file, name, entry or {}, root) for name, entry in entries.items()}


def _read_entry(file: Path, name: str, entry: dict[str, Any], root: Path) -> Image:
    where = f"{file}: image {name}"
    if unknown := set(entry) - FIELDS:
        raise LocalClusterError(f"{where}: unknown field {', '.join(sorted(unknown))}")
    environment = entry.get("environment", "system")
    if environment not in {"system", "operator", "cluster", *LOCKS}:
        raise LocalClusterError(f"{where}: unknown environment {environment}")
    folders = {path: root / folder for path, folder in (entry.get("folders") or {}).items()}
    return Image(
        name=name,
        folders=folders,
        workdir=entry.get("workdir", next(iter(folders), "/")),
        command=[str(word) for word in entry.get("command") or []],
        args=[str(word) for word in entry.get("args") or []],
        environment=environment,
        env={key: str(value) for key, value in (entry.get("env") or {}).items()},
    )
