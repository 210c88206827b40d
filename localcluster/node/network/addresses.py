"""Loopback addresses: one /16 of 127.0.0.0/8 for the node, and one address in it for each pod.

The /16 is claimed by a name in the kernel's abstract socket namespace, so that no two nodes of this
machine share one, whichever cluster they belong to; the claim ends with the process.
"""

import os
import random
import socket
import threading

from localcluster.errors import LocalClusterError
from localcluster.ports import claim_name

FIRST_POD = 256  # 127.n.1.0: below lies the node's own
LAST_POD = 65534


class AddressPool:
    """The addresses of one node. Any thread may take one and give it back.

    They are given in a circle, so that one comes back as late as possible.
    """

    def __init__(self) -> None:
        self._claim, self._prefix = _claim_range()
        self._lock = threading.Lock()  # guards the two below
        self._used: set[int] = set()
        self._next = FIRST_POD

    @property
    def node_address(self) -> str:
        """The node's own address, which pods on the host's network share."""
        return f"{self._prefix}.0.1"

    def take(self) -> str:
        """A free address for a pod. Raises LocalClusterError."""
        with self._lock:
            for _ in range(FIRST_POD, LAST_POD):
                number = self._next
                self._next = FIRST_POD if number >= LAST_POD else number + 1
                if number not in self._used and number % 256 not in (0, 255):
                    self._used.add(number)
                    return f"{self._prefix}.{number // 256}.{number % 256}"
        raise LocalClusterError("every pod address of this node is in use")

    def release(self, address: str) -> None:
        """Give an address back; harmless when it is free."""
        third, fourth = address.split(".")[2:]
        with self._lock:
            self._used.discard(int(third) * 256 + int(fourth))


def _claim_range() -> tuple[socket.socket, str]:
    numbers = list(range(1, 255))
    random.Random(os.getpid()).shuffle(numbers)
    for number in numbers:
        if claim := claim_name(f"localcluster-node-127.{number}"):
            return claim, f"127.{number}"
    raise LocalClusterError("every 127.x range of this machine is in use by a node")
