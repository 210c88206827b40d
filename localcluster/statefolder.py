"""The private folder of a cluster: claimed by a lock, so that no two clusters share one.

Files of a killed run may lie in a claimed folder. They are removed before the next start; each
run works in a sub-folder of its own, because processes of the killed one may still be ending.
"""

import os
import shutil
import tempfile
from pathlib import Path

from localcluster.errors import InUseError, LocalClusterError
from localcluster.filelock import FileLock

LOCK = "lock"
RUN_PREFIX = "run-"
TEMPORARY_PREFIX = "cluster-"


class StateFolder:
    """A claimed folder; everything of the cluster lies in it. Release it at the end."""

    def __init__(self, path: Path, lock: FileLock, is_temporary: bool) -> None:
        self.path = path
        self._lock = lock
        self._is_temporary = is_temporary
        self.run = Path(tempfile.mkdtemp(prefix=RUN_PREFIX, dir=path))
        self.logs = path / "logs"
        self.logs.mkdir()

    def release(self) -> None:
        """Remove the run, and the whole folder if it is temporary; logs stay otherwise."""
        try:
            remove_tree(self.path if self._is_temporary else self.run)
        finally:
            self._lock.release()


def claim(path: Path | None) -> StateFolder:
    """Claim this folder, or a new temporary one; raises InUseError."""
    return _claim_temporary() if path is None else _claim_named(path)


def remove_tree(path: Path) -> None:
    """Remove a folder, but never what is mounted below it."""
    mounted = mount_points_below(path)
    if mounted:
        raise LocalClusterError(f"not removing {path}: {mounted[0]} is a mount point")
    shutil.rmtree(path, ignore_errors=True)


def mount_points_below(path: Path) -> list[Path]:
    """What this process sees mounted in the folder."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [Path(line.split()[4].replace("\\040", " ")) for line in lines]
    return [point for point in points if point.is_relative_to(path.absolute())]


def _claim_named(path: Path) -> StateFolder:
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = FileLock(path / LOCK)
    if not lock.try_acquire():
        raise InUseError(f"{path} belongs to the running cluster of process {lock.holder_pid()}")
    for entry in path.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            remove_tree(entry)
        elif entry.name != LOCK:
            entry.unlink()
    return StateFolder(path.absolute(), lock, is_temporary=False)


def _claim_temporary() -> StateFolder:
    root = _temporary_root()
    with FileLock(root / LOCK):  # a folder without a held lock is stale only outside of this
        for folder in root.glob(f"{TEMPORARY_PREFIX}*"):
            _remove_if_stale(folder)
        path = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=root))
        lock = FileLock(path / LOCK)
        lock.try_acquire()
    return StateFolder(path, lock, is_temporary=True)


def _temporary_root() -> Path:
    root = Path(tempfile.gettempdir()) / f"localcluster-{os.getuid()}"
    root.mkdir(mode=0o700, exist_ok=True)
    if root.is_symlink() or root.stat().st_uid != os.getuid():
        raise LocalClusterError(f"{root} belongs to another user")
    return root


def _remove_if_stale(folder: Path) -> None:
    lock = FileLock(folder / LOCK)
    if lock.try_acquire():
        remove_tree(folder)
        lock.release()
