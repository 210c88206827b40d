"""Adds images to the table of a running background cluster, and removes them.

The nodes look up an image in that table first, and read a changed table again at the next pull. The
table is removed with the cluster.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from localcluster.client.kubeconfig import write_private
from localcluster.commands.background import config_of, kubeconfig_of
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.filelock import FileLock
from localcluster.machine.report import Report
from localcluster.machine.statefolder import IMAGES, folder_of
from localcluster.provision.environments import SHARED
from localcluster.provision.images import (
    DEFAULT_TABLE,
    Image,
    ImageTable,
    of_its_tag,
    repository_of,
    stand_in,
)

WORKDIR = "/workspace"
ENVIRONMENT = "examples"
Entries = dict[str, Any]


def add(
    cluster: str,
    name: str,
    folder: Path,
    requirements: Path | None,
    report: Report,
    paddle: str = "",
) -> Path:
    """Map an image name to this folder, install PaddlePaddle and the packages of `requirements` for
    it, and return the path of the table. `paddle` is a version of PaddlePaddle, of which the first
    number counts; empty for that of the tag, or any.

    Raises LocalClusterError, for example with pip's message, and leaves the table unchanged.
    """
    kubeconfig_of(cluster)  # raises unless the cluster runs
    if repository_of(name) is None:
        raise LocalClusterError(f"not an image name: {name}")
    if not folder.is_dir():
        raise LocalClusterError(f"no such folder: {folder}")
    environment = f"{ENVIRONMENT}-{paddle.partition('.')[0]}" if paddle else ENVIRONMENT
    if environment not in SHARED:
        raise LocalClusterError(f"there is no PaddlePaddle {paddle} for the local cluster")
    entry: Entries = {"folders": {WORKDIR: str(folder.absolute())}, "environment": environment}
    if requirements is not None:
        entry["requirements"] = str(requirements.absolute())
    image = of_its_tag(name, Image(name, environment=environment, requirements=requirements))
    image.prepare(report)
    report(stand_in(name, image))
    return _change(cluster, lambda all_: all_ | {name: entry | {"env": {"PYTHONUNBUFFERED": "1"}}})


def remove(cluster: str, name: str) -> Path:
    """Remove an image that was added; return the table's path. Raises LocalClusterError."""
    kubeconfig_of(cluster)

    def without(entries: Entries) -> Entries:
        if name not in entries:
            raise LocalClusterError(f"no image {name} was added to cluster {cluster}")
        return {each: entry for each, entry in entries.items() if each != name}

    return _change(cluster, without)


def table(cluster: str) -> ImageTable:
    """The image tables of a running cluster. Raises LocalClusterError."""
    kubeconfig_of(cluster)
    return ImageTable([folder_of(cluster) / IMAGES, *config_of(cluster).images])


def describe(cluster: str) -> str:
    """A line for each image: name, folders, environment, and the table that has it."""
    lines: dict[str, str] = {}
    for file, images in table(cluster).entries():
        where = "localcluster/images.yaml" if file == DEFAULT_TABLE else str(file)
        for name, image in images.items():
            folders = ",".join(f"{path}={folder}" for path, folder in image.folders.items())
            packages = f"+{image.requirements}" if image.requirements else ""
            words = [name, folders or "-", image.environment + packages, where]
            lines.setdefault(name, "  ".join(words))
    return "\n".join(lines.values())


def parse_pair(text: str) -> tuple[str, Path]:
    """Parse NAME=FOLDER. Raises ValueError."""
    match = re.fullmatch(r"([^=]+)=(.+)", text)
    if match is None:
        raise ValueError(f"not NAME=FOLDER: {text}")
    return match[1], Path(match[2])


def _change(cluster: str, change: Callable[[Entries], Entries]) -> Path:
    path = folder_of(cluster) / IMAGES
    with FileLock(path.with_name(f".{IMAGES}.lock")):
        entries = (yaml.safe_load(path.read_text()) or {}).get("images") or {}
        content = {"images": change(entries)}
        write_private(path, yaml.safe_dump(content, sort_keys=False).encode())
    return path
