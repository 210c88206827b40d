"""System calls for which Python 3.11 has no function: namespaces and mounts.

Any thread can call these. But unshare and setns change only the calling thread, so the processes
that use them have one thread.
"""

import ctypes
import os
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MS_SLAVE = 1 << 19

MNT_DETACH = 2

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Move this thread, or for PID its next children, into new namespaces. Raises OSError."""
    _check(_libc.unshare(ctypes.c_int(flags)), "unshare")


def unshare_as_root(flags: int) -> None:
    """`unshare`, for a user who is not root as root of a new user namespace, which gives the right
    to the others. Raises OSError.
    """
    user, group = os.getuid(), os.getgid()
    unshare(flags if user == 0 else flags | CLONE_NEWUSER)
    if user != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")


def setns(descriptor: int, kind: int) -> None:
    """Move this thread into the descriptor's namespace of this type. Raises OSError."""
    _check(_libc.setns(ctypes.c_int(descriptor), ctypes.c_int(kind)), "setns")


def mount(
    source: str, target: str | Path, kind: str = "", flags: int = 0, options: str = ""
) -> None:
    """Call mount(2). Raises an OSError that names source and target."""
    result = _libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        os.fsencode(options) or None,
    )
    _check(result, f"mount {source} on {target}")


def bind(source: str | Path, target: str | Path, read_only: bool = False) -> None:
    """Make `source`, and what is mounted below it, appear at `target`. Raises OSError.

    `read_only` has no effect on what is mounted below `source`.
    """
    mount(str(source), target, flags=MS_BIND | MS_REC)
    if read_only:
        # In a user namespace a remount must keep those of these flags that the mount already has.
        locked = os.statvfs(target).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC)
        mount("none", target, flags=MS_BIND | MS_REMOUNT | MS_RDONLY | locked)


def unmount(target: str | Path) -> None:
    """Detach a mount; processes that still use it keep it. Raises OSError."""
    _check(_libc.umount2(os.fsencode(target), MNT_DETACH), f"unmount {target}")


def pivot_root(new_root: str | Path) -> None:
    """Make the mount point `new_root` the root; the old root is unmounted."""
    os.chdir(new_root)
    # The old root is stacked below the new one and then detached, so no folder is needed for it.
    _check(_libc.pivot_root(b".", b"."), "pivot_root")
    _check(_libc.umount2(b".", MNT_DETACH), "detach the old root")
    os.chdir("/")


def set_hostname(name: str) -> None:
    """Set the hostname of this process's UTS namespace. Raises OSError."""
    data = name.encode()
    _check(_libc.sethostname(data, ctypes.c_size_t(len(data))), "sethostname")
