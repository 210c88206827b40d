"""The image table: image name -> program folders, entry point, arguments and environment.

A changed file is read again, so that images can be added while the cluster runs.
"""

import functools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from localcluster.machine.errors import LocalClusterError
from localcluster.machine.project import PROJECT
from localcluster.machine.report import Report
from localcluster.machine.statefolder import DEFAULT_NAME, name_of
from localcluster.provision.binaries import ensure_binaries
from localcluster.provision.environments import (
    SHARED,
    ensure_environment,
    ensure_packages,
    has_packages,
    is_ready,
)
from localcluster.provision.training import TrainingPython, training, written

SERVED_ROLES = {"ps", "heter"}

DEFAULT_TABLE = Path(__file__).parents[1] / "images.yaml"
ANY_PADDLE = "examples"
TAG = re.compile(r"(\d+)\.\d")
FIELDS = {"folders", "workdir", "command", "args", "environment", "requirements", "env"}
# The grammar of an image reference: registry's host, path of lower-case names, tag, digest.
NAME = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
REFERENCE = re.compile(
    r"(?P<repository>(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]+)?/)?"
    rf"{NAME}(?:/{NAME})*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?:@[a-z0-9]+:[0-9a-f]{32,})?"
)


@dataclass(frozen=True)
class Image:
    """One entry of the image table. `folders` maps the container's paths to folders here.

    `command` is the image's entry point, `args` are its default arguments: a container's own
    command or args replace them.
    """

    name: str
    folders: dict[str, Path] = field(default_factory=dict)
    workdir: str = "/"
    command: list[str] = field(default_factory=list)
    args: list[str] = field(default_factory=list)
    environment: str = "system"
    requirements: Path | None = None
    env: dict[str, str] = field(default_factory=dict)

    @property
    def is_present(self) -> bool:
        """Whether everything that the image needs is built, so that nothing has to be pulled."""
        if self.requirements is not None:
            return has_packages(self.environment, self.requirements)
        return self.environment not in SHARED or is_ready(self.environment)

    def prepare(self, report: Report) -> list[Path]:
        """Build the image's environment if needed; return the folders to mount for it.

        Raises LocalClusterError.
        """
        if self.requirements is not None:
            folders = ensure_packages(self.environment, self.requirements, report)
            return [*folders, self.training.python.prefix]
        if self.environment in SHARED:
            return [ensure_environment(self.environment, report), self.training.python.prefix]
        if self.environment == "operator":
            return [Path(sys.prefix), Path(sys.base_prefix)]
        if self.environment == "cluster":
            return [ensure_binaries(report)]
        return []

    @property
    def training(self) -> TrainingPython:
        """The Python and PaddlePaddle of a shared environment. Raises LocalClusterError."""
        return training(SHARED[self.environment])

    @property
    def keeps_environment(self) -> bool:
        """Whether the image's environment is shared, and so must not be changed by a container."""
        return self.environment in SHARED

    def programs(self, folders: list[Path]) -> Path | None:
        """The folder to put first in PATH, if any."""
        if self.environment == "cluster":
            return folders[0]
        return folders[0] / "bin" if folders else None


def repository_of(name: str) -> str | None:
    """The repository of an image name; None if `name` is not an image name."""
    match = REFERENCE.fullmatch(name)
    if match is None or "//" in name or match["repository"] != match["repository"].lower():
        return None
    return match["repository"]


def stand_in(name: str, image: Image) -> str:
    """What stands for an image with PaddlePaddle, for people; empty for other images."""
    if image.environment not in SHARED:
        return ""
    found = image.training
    program = f"PaddlePaddle {found.paddle.version} with Python {written(found.python)}"
    return f"on this machine {program} stands for the image {name}"


def of_its_tag(name: str, image: Image) -> Image:
    """The image with the PaddlePaddle that its tag names, if its tag is that of PaddlePaddle."""
    match = REFERENCE.fullmatch(name)
    version = TAG.match(match["tag"] or "") if match else None
    wanted = f"{ANY_PADDLE}-{version[1]}" if version else ""
    if match is None or image.environment != ANY_PADDLE or wanted not in SHARED:
        return image
    is_paddle = match["repository"].rpartition("/")[2] == "paddle"
    return replace(image, environment=wanted) if is_paddle else image


class ImageTable:
    """Finds an image by its full name in any table, else by its repository. Earlier tables win.
    Thread-safe.
    """

    def __init__(self, files: list[Path]) -> None:
        self._files = [*files, DEFAULT_TABLE]
        self.entries()  # raises now if a table cannot be read

    def find(self, name: str) -> Image | None:
        """The image, or None if no table has it. An image `paddle` has the PaddlePaddle of its tag,
        unless its environment names one. Raises LocalClusterError.
        """
        tables = [entries for _, entries in self.entries()]
        names = (name, repository_of(name))
        found = (table[each] for each in names for table in tables if each in table)
        return next((of_its_tag(name, image) for image in found), None)

    def entries(self) -> list[tuple[Path, dict[str, Image]]]:
        """Each table with its images, by precedence. Raises LocalClusterError."""
        return [(file, _read_table(file)) for file in self._files]

    def missing(self, name: str) -> str:
        """The error message for an image that is in no table."""
        file = self._files[0]
        told = f'"{name}" is not in the image table'
        if cluster := name_of(file.parent):
            named = "" if cluster == DEFAULT_NAME else f" --name {cluster}"
            return f"{told} {file}: python -m localcluster images add{named} {name}=FOLDER"
        if file == DEFAULT_TABLE:
            own = "list it in a table of your own and pass that with --images FILE"
            return f"{told}: {own} (make: IMAGES=FILE)"
        return f"{told} {file}: add it there"


def images_of(thing: Any) -> Iterator[str]:
    """The image names of all containers in a manifest, or in a part of one."""
    if isinstance(thing, list):
        for each in thing:
            yield from images_of(each)
    elif isinstance(thing, dict):
        for key, value in thing.items():
            if key in ("containers", "initContainers") and isinstance(value, list):
                found = (each.get("image") for each in value if isinstance(each, dict))
                yield from (image for image in found if isinstance(image, str))
            else:
                yield from images_of(value)


def _read_table(file: Path) -> dict[str, Image]:
    try:
        return _parse_table(file, file.stat().st_mtime_ns)
    except OSError as error:
        raise LocalClusterError(f"image table: {error}") from error


@functools.cache
def _parse_table(file: Path, _changed_at: int) -> dict[str, Image]:
    """Parse one table, unless it is cached with this time of change. Raises LocalClusterError."""
    try:
        entries = (yaml.safe_load(file.read_text()) or {}).get("images") or {}
        names = dict(entries)
    except (ValueError, TypeError, yaml.YAMLError, AttributeError) as error:
        raise LocalClusterError(f"{file}: {error}") from error
    root = PROJECT if file == DEFAULT_TABLE else file.resolve().parent
    return {str(name): _read_entry(file, name, entry, root) for name, entry in names.items()}


def _read_entry(file: Path, name: str, entry: Any, root: Path) -> Image:
    where = f"{file}: image {name}"
    entry = {} if entry is None else entry
    if not isinstance(entry, dict) or not isinstance(entry.get("folders") or {}, dict):
        raise LocalClusterError(f"{where}: must be a mapping, as in `folders: {{PATH: FOLDER}}`")
    if unknown := set(entry) - FIELDS:
        raise LocalClusterError(f"{where}: unknown field {', '.join(sorted(unknown))}")
    environment = entry.get("environment", "system")
    if environment not in {"system", "operator", "cluster", *SHARED}:
        raise LocalClusterError(f"{where}: unknown environment {environment}")
    requirements = entry.get("requirements")
    if requirements and environment not in SHARED:
        raise LocalClusterError(f"{where}: requirements need environment: {' or '.join(SHARED)}")
    folders = {path: root / folder for path, folder in (entry.get("folders") or {}).items()}
    return Image(
        name=name,
        folders=folders,
        workdir=entry.get("workdir", next(iter(folders), "/")),
        command=[str(word) for word in entry.get("command") or []],
        args=[str(word) for word in entry.get("args") or []],
        environment=environment,
        requirements=root / requirements if requirements else None,
        env={key: str(value) for key, value in (entry.get("env") or {}).items()},
    )


def check_servers(objects: list[dict[str, Any]], table: ImageTable) -> None:
    """Raise LocalClusterError if a job needs parameter servers and this version of PaddlePaddle has
    none.
    """
    for each in objects:
        if why := why_no_servers(each, table):
            raise LocalClusterError(why)


def why_no_servers(job: dict[str, Any], table: ImageTable) -> str:
    """Why a job with parameter servers or heter workers cannot have them here; empty if it can."""
    if job.get("kind") != "PaddleJob" or not SERVED_ROLES & set(job.get("spec") or ()):
        return ""
    found = (table.find(image) for image in images_of(job))
    whys = (each.training.why_no_servers for each in found if each and each.keeps_environment)
    return next(filter(None, whys), "")
