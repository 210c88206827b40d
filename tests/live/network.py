"""A network of a test process's own: what listens on all addresses there disturbs no other one.

The pods of local clusters share a network, and PaddlePaddle's launcher and Gloo listen on ports of
their own choice on all of its addresses. So processes that run tests side by side part from it.
"""

import contextlib
import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from localcluster.node.runtime import linux

SIOCSIFFLAGS = 0x8914
SIOCSIFADDR = 0x8916
IFF_UP = 0x1
PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
CLIENT_PORTS = (10_000, 19_999)
"""Where neither pods nor the components of local clusters listen.

By default clients take ports among those of jobs' pods. A connection there, and the minute for
which its port is remembered, keeps a pod from listening on all addresses; Gloo's server dies of it.
"""
ROUTES = Path("/proc/thread-self/net/route")
ADDRESS = "192.0.2.1"
"""Of a range for documentation: without any but 127.0.0.1, AI_ADDRCONFIG finds no name at all."""


def leave() -> None:
    """Move this thread, and what it starts from now on, to a network with a loopback device alone.

    Raises PermissionError without root's rights.
    """
    linux.unshare(linux.CLONE_NEWNET)
    flags = struct.pack("16sH", b"lo", IFF_UP)
    address = struct.pack("16sHH4s8x", b"lo:1", socket.AF_INET, 0, socket.inet_aton(ADDRESS))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, flags)
        fcntl.ioctl(control, SIOCSIFADDR, address)
    with contextlib.suppress(OSError):  # some containers may only read it
        PORT_RANGE.write_text("{} {}".format(*CLIENT_PORTS))


def leads_out() -> bool:
    """Whether this thread's network has a route: loopback alone has none but the table's head."""
    return len(ROUTES.read_text().splitlines()) > 1


@contextlib.contextmanager
def outside() -> Iterator[None]:
    """Where this process has left a network, be back in it, with what this thread starts.

    The process that has started this one is still there.
    """
    mine, parents = Path("/proc/thread-self/ns/net"), Path(f"/proc/{os.getppid()}/ns/net")
    try:
        has_left = mine.readlink() != parents.readlink()
    except PermissionError:  # that process is outside of the user namespace, where none returns
        has_left = False
    if not has_left:
        yield
        return
    with mine.open() as own, parents.open() as outer:
        linux.setns(outer.fileno(), linux.CLONE_NEWNET)
        try:
            yield
        finally:
            linux.setns(own.fileno(), linux.CLONE_NEWNET)
