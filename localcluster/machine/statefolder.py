"""The private folder of a cluster, claimed by a lock so that no two clusters use the same folder.

`claim` removes the files of a former run that was killed. Each run has a subfolder of its own,
because processes of a killed run perhaps have not ended yet.
"""

import os
import shutil
import stat
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path

from localcluster.machine import clock
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.filelock import FileLock
from localcluster.machine.userfolder import user_folder

DEFAULT_NAME = "default"
STATE_HOME = "XDG_STATE_HOME"
LOCK = "lock"
IMAGES = "images.yaml"
RUN_PREFIX = "run-"
TEMPORARY_PREFIX = "cluster-"
ASKING_SECONDS = 2.0


def folder_of(name: str) -> Path:
    """The state folder of the background cluster with this name."""
    return user_folder(STATE_HOME, ".local/state") / name


def name_of(folder: Path) -> str:
    """The name of the cluster with this state folder; empty if the cluster has no name."""
    return folder.name if folder == folder_of(folder.name).absolute() else ""


class StateFolder:
    """A claimed folder for all files of a cluster, until `release`. `run` is this run's subfolder.
    If the cluster has a name, `images` has the table of images that are added while it runs.
    """

    def __init__(self, path: Path, lock: FileLock, is_temporary: bool) -> None:
        self.path = path
        self._lock = lock
        self._is_temporary = is_temporary
        self.run = Path(tempfile.mkdtemp(prefix=RUN_PREFIX, dir=path))
        self.logs = path / "logs"
        self.logs.mkdir()
        self.images = [path / IMAGES] if name_of(path) else []
        for table in self.images:
            table.touch(0o600)

    def release(self) -> None:
        """Remove a temporary folder. In any other, remove only `run`: logs, for example, stay."""
        try:
            remove_tree(self.path if self._is_temporary else self.run)
        finally:
            self._lock.release()


def claim(path: Path | None) -> StateFolder:
    """Claim this folder and empty it. Without `path`, remove temporary folders of killed clusters,
    and claim a new one. Raises LocalClusterError if a running cluster uses the folder.
    """
    if path is not None:
        return _claim(path, is_temporary=False)
    root = _temporary_root()
    with FileLock(root / LOCK):  # else a folder that another process has just made seems stale
        for folder in root.glob(f"{TEMPORARY_PREFIX}*"):
            _remove_if_stale(folder)
        new = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=root))
        return _claim(new, is_temporary=True)


def remove_tree(path: Path) -> None:
    """Remove what can be removed of a folder. Raises LocalClusterError if it has a mount point."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        mounted = Path(line.split()[4].replace("\\040", " "))
        if mounted.is_relative_to(path.absolute()):
            raise LocalClusterError(f"not removing {path}: {mounted} is a mount point")
    for parent, names, _ in os.walk(path):
        for folder in map(Path(parent).joinpath, names):
            # The kernel makes a folder without any rights in each overlay, also for its user.
            is_open = os.access(folder, os.R_OK | os.X_OK, effective_ids=True)
            if not is_open and not folder.is_symlink():
                with suppress(OSError):
                    folder.chmod(stat.S_IRWXU)
    shutil.rmtree(path, ignore_errors=True)


def _claim(path: Path, is_temporary: bool) -> StateFolder:
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = FileLock(path / LOCK)
    # Wait a little: a process that checks whether the cluster runs takes the lock for a moment.
    if not clock.wait_until(partial(lock.acquire, wait=False), ASKING_SECONDS):
        holder = lock.holder_pid()
        raise LocalClusterError(f"{path} belongs to the running cluster of process {holder}")
    for entry in path.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            remove_tree(entry)
        elif entry.name != LOCK:
            entry.unlink()
    return StateFolder(path.absolute(), lock, is_temporary)


def _temporary_root() -> Path:
    root = Path(tempfile.gettempdir()) / f"localcluster-{os.getuid()}"
    root.mkdir(mode=0o700, exist_ok=True)
    if root.is_symlink() or root.stat().st_uid != os.getuid():
        raise LocalClusterError(f"{root} is of another user: set TMPDIR to a folder of your own")
    return root


def _remove_if_stale(folder: Path) -> None:
    lock = FileLock(folder / LOCK)
    with suppress(FileNotFoundError):  # another process removes it at this moment
        if lock.acquire(wait=False):
            remove_tree(folder)
            lock.release()
