"""Runs a command where pods can have networks: `python -m tests.live.networks COMMAND…`.

If they cannot, they share the machine's, and one job runs at a time. Root may make networks. Any
other user may as root of a user namespace, if the kernel allows it: the command then has a network
of its own, with nothing but loopback, and its own temporary files, because those of the machine's
root would be another user's there.
"""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from localcluster.node.runtime.netlink import Netlink

TRY = ("unshare", "--net", "true")
AS_ROOT = ("unshare", "--user", "--map-root-user", "--net")
INSIDE = "--inside"


@cache
def may_make_networks() -> bool:
    """Whether this process may."""
    return _succeeds(TRY)


def may_as_root() -> bool:
    """Whether this user may as root of a user namespace."""
    return _succeeds((*AS_ROOT, *TRY))


def wrap(command: Sequence[str]) -> Sequence[str]:
    """The command, or one that runs it in a user namespace if that makes the difference."""
    if may_make_networks() or not may_as_root():
        return command
    return (*AS_ROOT, sys.executable, "-m", "tests.live.networks", INSIDE, *command)


def is_machine_root() -> bool:
    """Whether this is root, and not only that of a user namespace."""
    return os.geteuid() == 0 and Path("/proc/self/uid_map").read_text().split()[:2] == ["0", "0"]


needs_owner = pytest.mark.skipif(
    os.geteuid() == 0 and not is_machine_root(),
    reason="the machine's folders belong to a user who is not in this user namespace",
)
"""For containers that write into folders of the machine, or mount something below one."""


def temporary_folder(parent: Path) -> Path:
    """This user's folder for temporary files. Raises SystemExit if another user has taken it.

    Its name is short: Chromium listens on a socket far below it, whose path has 107 characters.
    """
    folder = parent / f"pdj-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise SystemExit(
            f"{folder} is another user's: set TMPDIR to a folder that you can write to"
        )
    return folder


def main(arguments: Sequence[str]) -> None:
    """Become the command."""
    if arguments[0] == INSIDE:
        _, *command = arguments
        with Netlink() as kernel:
            kernel.set_up(socket.if_nametoindex("lo"))
    elif (command := list(wrap(arguments))) != list(arguments):
        os.environ["TMPDIR"] = str(temporary_folder(Path(tempfile.gettempdir())))
    os.execvp(command[0], command)


def _succeeds(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        return False


if __name__ == "__main__":
    main(sys.argv[1:])
