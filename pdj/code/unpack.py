"""Unpacks the code that `--code` has sent, in an init container with the trainer's image.

This file is sent with the code, and runs with the image's Python, 3.7 or later. So it can import
only the standard library.
"""
# ruff: noqa: PTH103, PTH117, PTH118, PTH120, PTH123, T201

import bisect
import importlib.util
import itertools
import os
import shutil
import subprocess
import sys
import tarfile
from typing import BinaryIO, Iterator, List, Set  # noqa: UP035 # for Python 3.7

NO_PIP = "this image's Python has no pip, which requirements need: put them into the image"
MAX_PATH = 4096


def unpack(file: BinaryIO, folder: str) -> None:
    """Extract a tar.gz. Raises TarError for a member that would lead out of the folder."""
    with tarfile.open(fileobj=file, mode="r:gz") as archive:
        members = archive.getmembers()
        check(members)
        if hasattr(tarfile, "data_filter"):
            archive.extractall(folder, members, filter="data")
        else:
            archive.extractall(folder, members)


def check(members: List[tarfile.TarInfo]) -> None:  # noqa: UP006
    """Raise TarError for a member that is no file or link inside the folder.

    Python's own filter can be evaded (CVE-2025-4517), and old versions have none. Here each name
    has to be normalized and unique, no name can pass through a link, and no link can go down and
    up again. So every path leads where its text says.
    """
    links = {member.name for member in members if member.issym()}
    names: Set[str] = set()  # noqa: UP006
    for member in members:
        target = os.path.join(os.path.dirname(member.name), member.linkname)
        if (
            any(map(leads_out, (member.name, target)))
            or os.path.normpath(member.name) != member.name
            or member.name in names
            or not (member.isfile() or member.issym())
            or turns_back(member.linkname)
        ):
            raise tarfile.TarError(f"{member.name!r} leads out of the folder or is not a file")
        names.add(member.name)
    for name in passed_links(names, links):
        raise tarfile.TarError(f"{name!r} leads out of the folder, by a link")


def leads_out(path: str) -> bool:
    """Whether a path leads out of its folder (links aside) or is longer than Linux allows."""
    if len(path) >= MAX_PATH or os.path.isabs(path):
        return True
    return os.path.normpath(path).split("/")[0] == ".."


def turns_back(path: str) -> bool:
    """Whether `..` comes after the name of a folder in the path: the folder can be a link."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return ".." in itertools.dropwhile(lambda part: part == "..", parts)


def passed_links(names: Set[str], links: Set[str]) -> Iterator[str]:  # noqa: UP006
    """For each link that is used as a folder, one of the names below it."""
    ordered = sorted(names)
    for folder in (link + "/" for link in links):
        first = bisect.bisect_left(ordered, folder)
        if first < len(ordered) and ordered[first][: len(folder)] == folder:
            yield ordered[first]


def install(requirements: str, target: str, folder: str) -> None:
    """Install packages into `target`. Runs pip in the code's `folder`. Exits on failure."""
    if importlib.util.find_spec("pip") is None:
        sys.exit(f"error: {NO_PIP}")
    temporary = os.path.join(target, ".tmp")
    os.makedirs(temporary, exist_ok=True)  # the root filesystem can be read-only
    words = ["--target", target, "--no-cache-dir", "--disable-pip-version-check", "--no-input"]
    said = ""
    with subprocess.Popen(
        [sys.executable, "-m", "pip", "install", *words, "-r", requirements],
        cwd=folder,
        env=dict(os.environ, TMPDIR=temporary),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as pip:
        for line in pip.stdout or ():
            text = line.decode(errors="replace").rstrip()
            print(text, flush=True)
            said = text if text.startswith("ERROR: ") else said
    if pip.returncode != 0:
        sys.exit(f"error: pip could not install {requirements}: {said.replace('ERROR: ', '')}")
    shutil.rmtree(temporary, ignore_errors=True)


def main(archive: str, folder: str, *packages: str) -> None:
    """Unpack an archive into a folder; `packages`, if given, are a requirements file and the folder
    to install to. Exits on failure.
    """
    try:
        with open(archive, "rb") as file:
            unpack(file, folder)
        if packages:
            install(packages[0], packages[1], folder)
    except (OSError, EOFError, tarfile.TarError) as error:
        sys.exit(f"error: the code cannot be unpacked: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
