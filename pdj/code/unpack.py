"""Unpacks what `--code` has sent, in an init container of the trainer's own image.

The file is sent along and runs alone, on any Python from 3.7 on: it imports nothing of ours.
"""
# ruff: noqa: PTH103, PTH117, PTH118, PTH120, PTH123, T201

import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
from typing import BinaryIO, List  # noqa: UP035 # for Python 3.7

NO_PIP = "this image's Python has no pip, which requirements need: put them into the image"


def unpack(file: BinaryIO, folder: str) -> None:
    """Extract a tar.gz. Raises TarError for a member that would lead out of the folder."""
    with tarfile.open(fileobj=file, mode="r:gz") as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(folder, filter="data")
            return
        members = archive.getmembers()
        check(members)
        archive.extractall(folder, members)


def check(members: List[tarfile.TarInfo]) -> None:  # noqa: UP006
    """Raise TarError for a member that is no file or link inside the folder. Needed for a Python
    whose tarfile has no filters.
    """
    links = {member.name for member in members if member.issym()}
    for member in members:
        parts = member.name.split("/")
        above = {"/".join(parts[:end]) for end in range(1, len(parts))}
        target = os.path.join(os.path.dirname(member.name), member.linkname)
        leads_out = any(
            os.path.isabs(path) or os.path.normpath(path).split("/")[0] == ".."
            for path in (member.name, target)
        )
        if leads_out or above & links or not (member.isfile() or member.issym()):
            raise tarfile.TarError(f"{member.name!r} leads out of the folder or is no file")


def install(requirements: str, target: str, folder: str) -> None:
    """Install packages beside the code, which is where pip starts; ends the process on failure."""
    if importlib.util.find_spec("pip") is None:
        sys.exit(f"error: {NO_PIP}")
    temporary = os.path.join(target, ".tmp")
    os.makedirs(temporary, exist_ok=True)  # the root may be read-only
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
    """Unpack an archive into a folder; `packages` are a requirements file and where they go."""
    try:
        with open(archive, "rb") as file:
            unpack(file, folder)
        if packages:
            install(packages[0], packages[1], folder)
    except (OSError, EOFError, tarfile.TarError) as error:
        sys.exit(f"error: the code cannot be unpacked: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
