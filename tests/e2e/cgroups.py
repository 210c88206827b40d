"""The cgroup below which the pods' are: made before the kubelet, which wants it to be there."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
INHERITED = ("cpuset.mems", "cpuset.cpus")


@contextmanager
def cgroup(name: str) -> Iterator[None]:
    """Have this cgroup in every hierarchy, without what an earlier run has left of it."""
    remove(name)
    for hierarchy in hierarchies():
        folder = hierarchy / name
        folder.mkdir(exist_ok=True)
        for file in INHERITED:  # a cpuset of version 1 starts empty, and takes no process then
            if (hierarchy / file).exists():
                (folder / file).write_text((hierarchy / file).read_text())
    try:
        yield
    finally:
        remove(name)


def hierarchies() -> list[Path]:
    """The hierarchies of version 1, or the one of version 2."""
    if (ROOT / "cgroup.controllers").exists():
        return [ROOT]
    return [each for each in sorted(ROOT.iterdir()) if (each / "cgroup.procs").exists()]


def remove(name: str) -> None:
    """Remove the cgroup and all below it; one in which a process still is stays."""
    for hierarchy in hierarchies():
        for folder in sorted((hierarchy / name).glob("**/"), reverse=True):
            with suppress(OSError):
                folder.rmdir()
