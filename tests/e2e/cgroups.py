"""The cgroup below which the pods' are: made before the kubelet, which wants it to be there."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from localcluster.machine import clock
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.filelock import FileLock
from tests.live import patience

CGROUP = "paddlejob-e2e"
ROOT = Path("/sys/fs/cgroup")
LOCK = Path("/run/lock") / CGROUP
"""Of the one run that may have it."""
INHERITED = ("cpuset.mems", "cpuset.cpus")
CONTROLLERS = {"cpu", "cpuset", "hugetlb", "memory", "pids"}
"""Those that a kubelet wants below its cgroup, if version 2 has them."""


@contextmanager
def cgroup(name: str = CGROUP) -> Iterator[None]:
    """Have this cgroup in every hierarchy. Raises LocalClusterError where that cannot be."""
    lock = FileLock(LOCK)
    if not lock.acquire(wait=False):
        raise LocalClusterError(f"process {lock.holder_pid()} runs a real node: wait for its end")
    remove(name)
    pass_on_controllers()
    for hierarchy in hierarchies():
        folder = hierarchy / name
        folder.mkdir()
        for file in INHERITED:  # a cpuset of version 1 starts empty, and takes no process then
            if (hierarchy / file).exists():
                (folder / file).write_text((hierarchy / file).read_text())
    try:
        yield
    finally:
        remove(name)
        lock.release()


def hierarchies() -> list[Path]:
    """The hierarchies of version 1, or the one of version 2."""
    if (ROOT / "cgroup.controllers").exists():
        return [ROOT]
    return [each for each in sorted(ROOT.iterdir()) if (each / "cgroup.procs").exists()]


def pass_on_controllers() -> None:
    """In version 2, let cgroups below the root have a kubelet's controllers.

    Raises LocalClusterError.
    """
    control = ROOT / "cgroup.subtree_control"
    if not control.exists():
        return
    here = set((ROOT / "cgroup.controllers").read_text().split())
    lacking = sorted(CONTROLLERS & here - set(control.read_text().split()))
    try:
        if lacking:
            control.write_text(" ".join(f"+{each}" for each in lacking))
    except OSError as error:
        raise LocalClusterError(
            f"a real node needs {', '.join(lacking)} in {control} ({error.strerror}):"
            f" move the processes of {ROOT} into a cgroup below it"
        ) from error


def remove(name: str) -> None:
    """Remove the cgroup and all below it. Raises LocalClusterError where a process stays in it."""
    if not clock.wait_until(partial(is_removed, name), patience.SECONDS):
        raise LocalClusterError(
            f"processes of an earlier real node are left: end those in {ROOT}/**/{name}"
        )


def is_removed(name: str) -> bool:
    """Remove what holds no process; whether that was all."""
    folders = [hierarchy / name for hierarchy in hierarchies()]
    for folder in folders:
        for each in sorted(folder.glob("**/"), reverse=True):
            with suppress(OSError):
                each.rmdir()
    return not any(folder.exists() for folder in folders)
