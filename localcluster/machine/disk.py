"""Says in one line which disk is full or cannot be written, where an error comes from that."""

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from localcluster.machine.project import PROJECT
from localcluster.machine.userfolder import home

FULL = re.compile("No space left on device|Disk quota exceeded", re.IGNORECASE)
"""The words of the C library, which Python, pip, Go and etcd repeat."""
READ_ONLY = re.compile(r"(/\S+): read-only file system")
"""As Go says it, with the folder that it could not make."""


def explain(error: BaseException) -> str:
    """The error's text; if a disk is full or read-only, which one, and what to do."""
    if found := READ_ONLY.search(str(error)):
        for folder, variable in _written(os.environ):
            if variable and folder.is_relative_to(found[1]):
                what = f"cannot write to {folder} (read-only file system)"
                return f"{what}: set {variable} to a folder that you can write to"
    if not FULL.search(str(error)):
        return str(error)
    # There can be room again: what was half made has been removed.
    folder, variable = min(_written(os.environ), key=lambda one: _free_bytes(one[0]))
    elsewhere = f", or set {variable} to a folder on another disk" if variable else ""
    return f"the disk of {folder} is full: make room there{elsewhere}, and do this again"


def _written(environment: Mapping[str, str]) -> list[tuple[Path, str]]:
    """The folders into which we, pip and Go write, each with the variable that names another."""
    cache = Path(environment.get("XDG_CACHE_HOME") or home() / ".cache")
    modules = Path((environment.get("GOPATH") or str(home() / "go")).split(os.pathsep)[0])
    usual = {
        "XDG_CACHE_HOME": cache,
        "TMPDIR": Path(tempfile.gettempdir()),
        "XDG_STATE_HOME": home() / ".local" / "state",
        "GOCACHE": cache / "go-build",
        "GOMODCACHE": modules / "pkg" / "mod",
        "PIP_CACHE_DIR": cache / "pip",
    }
    named = [(Path(environment.get(name) or path), name) for name, path in usual.items()]
    return [*named, (PROJECT, "")]


def _free_bytes(folder: Path) -> int:
    """The free bytes of the disk on which the folder is, or will be."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free
