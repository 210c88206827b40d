"""Loopback addresses: one /16 of 127.0.0.0/8 for the node, and one address in it for each pod.

The /16 is claimed by a name in the kernel's abstract socket namespace, so that no two nodes of this
machine share one, whichever cluster they belong to; the claim ends with the process.
"""

import itertools
import os
import random
import socket
from collections import deque

from localcluster.errors import LocalClusterError
from localcluster.ports import claim_name


class AddressPool:
    """The addresses of one node. Any thread may take one and give it back.

    One that was given back comes last, so that it is used again as late as possible.
    """

    def __init__(self) -> None:
        self._claim, self._prefix = _claim_range()
        ends = itertools.product(range(1, 256), range(1, 255))  # 127.n.0.x is the node's own
        self._free = deque(f"{self._prefix}.{third}.{fourth}" for third, fourth in ends)

    @property
    def node_address(self) -> str:
        """The node's own address, which pods on the host's network share."""
        return f"{self._prefix}.0.1"

    def take(self) -> str:
        """A free address for a pod. Raises LocalClusterError."""
        try:
            return self._free.popleft()
        except IndexError as error:
            raise LocalClusterError("every pod address of this node is in use") from error

    def release(self, address: str) -> None:
        """Give an address back, once."""
        self._free.append(address)


def _claim_range() -> tuple[socket.socket, str]:
    numbers = list(range(1, 255))
    random.Random(os.getpid()).shuffle(numbers)
    for number in numbers:
        if claim := claim_name(f"localcluster-node-127.{number}"):
            return claim, f"127.{number}"
    raise LocalClusterError("every 127.x range of this machine is in use by a node")
