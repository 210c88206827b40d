"""Removes from the cache the builds and environments that were not used for a while.

Each pin and each list of requirements has a folder of its own there, so a change leaves the former
one behind.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from localcluster.build.environments import cache_folder, remove_folder
from localcluster.machine import clock

DAY_SECONDS = 86_400.0


def prune(days: float) -> Iterator[tuple[str, int]]:
    """Remove folders not used for this many days; yields each one's name and size in bytes."""
    oldest = clock.now() - days * DAY_SECONDS
    for folder in sorted(cache_folder().glob("[!.]*/")):
        if folder.stat().st_mtime < oldest and not folder.is_symlink():
            size = _size(folder)
            gone = folder.with_name(f".{folder.name}.{os.getpid()}")
            folder.rename(gone)  # nobody finds half a folder
            remove_folder(gone)
            folder.with_name(f"{folder.name}.lock").unlink(missing_ok=True)
            yield folder.name, size


def _size(folder: Path) -> int:
    files = (Path(where, name) for where, _, names in os.walk(folder) for name in names)
    return sum(file.lstat().st_size for file in files)
