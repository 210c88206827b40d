"""Removes builds and environments from the cache that were not used for some time.

Each pinned version and each list of requirements has a folder of its own in the cache, so a change
leaves the old folder behind.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from localcluster.machine import clock
from localcluster.provision.environments import cache_folder, remove_folder

DAY_SECONDS = 86_400.0


def prune(days: float) -> Iterator[tuple[str, int]]:
    """Remove folders that were not used for this many days; yields their names and sizes in bytes.

    This is a generator, which removes a folder only when the next item is asked for.
    """
    oldest = clock.now() - days * DAY_SECONDS
    for folder in sorted(cache_folder().glob("[!.]*/")):
        if folder.stat().st_mtime < oldest and not folder.is_symlink():
            size = _size(folder)
            gone = folder.with_name(f".{folder.name}.{os.getpid()}")
            folder.rename(gone)  # so that nobody finds an incomplete folder
            remove_folder(gone)
            folder.with_name(f"{folder.name}.lock").unlink(missing_ok=True)
            yield folder.name, size


def _size(folder: Path) -> int:
    files = (Path(where, name) for where, _, names in os.walk(folder) for name in names)
    return sum(file.lstat().st_size for file in files)
