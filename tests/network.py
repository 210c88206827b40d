"""A network of a test process's own: what listens on all addresses there disturbs no other one.

The pods of local clusters share a network, and PaddlePaddle's launcher and Gloo listen on ports of
their own choice on all of its addresses. So processes that run tests side by side part from it.
"""

import fcntl
import socket
import struct

from localcluster.node import linux

IFNAME_BYTES = 16
SIOCSIFFLAGS = 0x8914
IFF_UP = 0x1


def leave() -> None:
    """Move this thread, and what it starts from now on, to a network with a loopback device alone.

    Raises PermissionError without root's rights.
    """
    linux.unshare(linux.CLONE_NEWNET)
    request = struct.pack(f"{IFNAME_BYTES}sH", b"lo", IFF_UP)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, request)
