"""The file system that a container sees, built by its first process in its own mount namespace.

The host's folders are the image: each top-level folder is an overlay whose writes go to the
container's scratch folder and do not change the host. But other file systems that are mounted there
are bound as they are, and so is a folder whose overlay the kernel refuses: writes to these change
the host. /proc, /dev, /run and /tmp are the container's own.
"""

import contextlib
import errno
import os
import tempfile
from pathlib import Path

from localcluster.node.runtime import linux
from localcluster.node.runtime.protocol import ContainerSpec, Mount

OWN_FOLDERS = ("proc", "sys", "dev", "run", "tmp", "lost+found")
MAX_LINKS = 40
"""The most symbolic links in a path, as in Linux."""
DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "fuse")
DEVICE_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
}


class MountError(Exception):
    """The container's file system cannot be built; the message is for the user."""


def enter_root(spec: ContainerSpec) -> None:
    """Build the container's root from its spec and make it this process's root.

    Raises a MountError that says which mount failed.
    """
    try:
        linux.mount("none", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
        root = Path(spec.scratch, "root")
        _build(root, spec)
        linux.pivot_root(root)
        if spec.read_only_root:
            flags = linux.MS_BIND | linux.MS_REMOUNT | linux.MS_RDONLY
            linux.mount("none", "/", flags=flags)
    except OSError as error:
        raise MountError(str(error)) from error


def _build(root: Path, spec: ContainerSpec) -> None:
    root.mkdir(parents=True)
    linux.mount("root", root, "tmpfs", options="mode=755,size=1g")
    layers = Path(spec.scratch, "layers")
    layers.mkdir()
    for entry in sorted(Path("/").iterdir()):
        if entry.name not in OWN_FOLDERS:
            _mirror(entry, root / entry.name, layers)
    _bind_host_mounts(root, Path(spec.scratch))
    _mount_proc(root / "proc")
    _bind_new(Path("/sys"), root / "sys")
    _make_devices(root / "dev")
    _mount_own(root, Path(spec.scratch))
    _link_etc(root, Path(spec.etc))
    # Parents first: a mount at /data must not hide one at /data/cache.
    for mount in sorted(spec.mounts, key=lambda mount: mount.target.count("/")):
        _mount_into(root, mount, layers)
    resolve_in(root, spec.workdir).mkdir(parents=True, exist_ok=True)


def _overlay(lowers: list[Path], target: Path, layers: Path) -> None:
    """Mount a private writable copy of `lowers`, the first on top, at `target`.

    If the kernel refuses an overlay, bind the first one instead.
    """
    layer = Path(tempfile.mkdtemp(dir=layers))
    upper, work = layer / "upper", layer / "work"
    upper.mkdir()
    work.mkdir()
    upper.chmod(lowers[-1].stat().st_mode & 0o7777)
    lower = ":".join(str(path).replace(":", "\\:") for path in lowers)
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    # volatile: the layer is thrown away, so unmounting need not sync the disk; userxattr is
    # what a user namespace needs.
    for extra in (",volatile", ",userxattr,volatile", ",userxattr", ""):
        with contextlib.suppress(OSError):
            linux.mount("overlay", target, "overlay", options=options + extra)
            return
    linux.bind(lowers[0], target)


def _mirror(source: Path, target: Path, layers: Path) -> None:
    if source.is_symlink():
        target.symlink_to(source.readlink())
    elif source.is_dir():
        target.mkdir()
        if not os.access(source, os.R_OK | os.X_OK):  # for example /root: the copy stays empty
            return
        _overlay([source], target, layers)
    else:
        _bind_new(source, target)


def _bind_new(source: Path, target: Path, read_only: bool = False) -> None:
    _make_mount_point(target, source.is_dir())
    linux.bind(source, target, read_only)


def _make_mount_point(target: Path, is_folder: bool) -> None:
    if is_folder:
        target.mkdir(parents=True, exist_ok=True)
    elif not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()


def _bind_host_mounts(root: Path, scratch: Path) -> None:
    """Bind the host's other file systems, which an overlay does not show."""
    own = tuple(f"/{name}" for name in OWN_FOLDERS)
    for point in _host_mount_points():
        if any(point == path or point.startswith(path + "/") for path in own):
            continue
        target = root / point.lstrip("/")
        # The root that is being built must not be bound below itself.
        depth = 0 if scratch.is_relative_to(point) else linux.MS_REC
        with contextlib.suppress(OSError):  # another user's FUSE mount: no container needs it
            _make_mount_point(target, Path(point).is_dir())
            linux.mount(point, target, flags=linux.MS_BIND | depth)


def _host_mount_points() -> list[str]:
    """The host's mount points, except / and those below another mount point."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = sorted({line.split()[4].encode().decode("unicode_escape") for line in lines})
    outermost: list[str] = []
    for point in points:
        if point != "/" and not any(point.startswith(seen + "/") for seen in outermost):
            outermost.append(point)
    return outermost


def _mount_proc(target: Path) -> None:
    target.mkdir()
    try:
        linux.mount("proc", target, "proc", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)
    except OSError:  # in a user namespace, where the host's /proc is partly covered
        linux.bind("/proc", target)


def _make_devices(target: Path) -> None:
    target.mkdir()
    linux.mount("dev", target, "tmpfs", linux.MS_NOSUID, "mode=755,size=1m")
    for device in [Path("/dev", name) for name in DEVICES] + sorted(Path("/dev").glob("nvidia*")):
        if device.exists():
            _bind_new(device, target / device.name)
    for name, destination in DEVICE_LINKS.items():
        (target / name).symlink_to(destination)
    for name in ("pts", "mqueue", "shm"):
        (target / name).mkdir()
    try:
        linux.mount("devpts", target / "pts", "devpts", options="newinstance,ptmxmode=0666")
    except OSError:
        linux.bind("/dev/pts", target / "pts")


def _mount_own(root: Path, scratch: Path) -> None:
    tmp = scratch / "tmp"
    tmp.mkdir()
    tmp.chmod(0o1777)
    _bind_new(tmp, root / "tmp")
    (root / "run").mkdir()
    linux.mount("run", root / "run", "tmpfs", options="mode=755,size=16m")


def _link_etc(root: Path, etc: Path) -> None:
    """Link /etc/hosts, /etc/hostname and, if the pod has its own, /etc/resolv.conf.

    The links lead into a bound folder, where the node can replace a file atomically.
    """
    folder = root / "run" / "pod-etc"
    folder.mkdir()
    linux.bind(etc, folder)
    for name in ("hosts", "hostname", "resolv.conf"):
        if not (etc / name).exists():
            continue
        link = root / "etc" / name
        link.unlink(missing_ok=True)
        link.symlink_to(f"/run/pod-etc/{name}")


def _mount_into(root: Path, mount: Mount, layers: Path) -> None:
    source = Path(mount.source)
    target = resolve_in(root, mount.target)
    if mount.if_hidden and target.exists():
        return
    if not source.exists():  # a subPath in a memory volume, which the node does not see
        source.mkdir(parents=True)
    if not mount.overlay:
        _bind_new(source, target, mount.read_only)
        return
    had = target.is_dir() and any(target.iterdir())
    target.mkdir(parents=True, exist_ok=True)
    _overlay([source, target] if had else [source], target, layers)


def resolve_in(root: Path, path: str) -> Path:
    """Resolve `path` and its symbolic links as if `root` were /. Raises OSError for more than
    MAX_LINKS links.
    """
    current, left = root, [*reversed(Path(path).parts)]
    links = 0
    while left:
        part = left.pop()
        following = current / part
        if part == "/":
            current = root
        elif part == "..":
            current = current if current == root else current.parent
        elif following.is_symlink():
            links += 1
            if links > MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            left += reversed(following.readlink().parts)
        else:
            current = following
    return current
