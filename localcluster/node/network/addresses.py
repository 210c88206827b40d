"""The node's range of addresses: one for itself and one for each pod.

If pods share the machine's network, the range is a /16 of the loopback addresses; otherwise it is a
/22 of the pods' network. If the machine has no device in that, the node has a loopback address. The
node claims the range by a name in the kernel's abstract socket namespace, so no two nodes on this
machine have the same range, even in different clusters. The claim ends with the process.
"""

import itertools
import os
import random
import socket
from collections import deque
from ipaddress import IPv4Address, IPv4Network
from typing import Self

from localcluster.machine.errors import LocalClusterError
from localcluster.machine.ports import claim_name

LOOPBACK = list(IPv4Network("127.0.0.0/8").subnets(new_prefix=16))[1:-1]


class AddressPool:
    """The addresses of one node. Any thread can take an address and give it back.

    A returned address is used again as late as possible. With `machine`, the node's own address is
    from there.
    """

    def __init__(self, ranges: list[IPv4Network] = LOOPBACK, machine: Self | None = None) -> None:
        self._claim, network = _claim_range(ranges)
        self._network = network
        self.subnet = str(network.network_address)
        self._machine = machine  # its claim, too, is kept
        self.node_address: str = machine.node_address if machine else str(network[1])
        """The node's own address, which pods on the host's network share."""
        self._free = deque(map(str, itertools.islice(network.hosts(), 1, None)))

    def take(self) -> str:
        """A free address for a pod. Raises LocalClusterError."""
        try:
            return self._free.popleft()
        except IndexError as error:
            raise LocalClusterError("every pod address of this node is in use") from error

    def keep(self, address: str) -> str:
        """The address that a pod has from an earlier process of the node, perhaps of its range."""
        if address in self._free:
            self._free.remove(address)
        return address

    def release(self, address: str) -> None:
        """Give an address back. Call this only once for each `take` or `keep`."""
        if IPv4Address(address) in self._network:
            self._free.append(address)


def _claim_range(ranges: list[IPv4Network]) -> tuple[socket.socket, IPv4Network]:
    for network in random.Random(os.getpid()).sample(ranges, len(ranges)):
        if claim := claim_name(f"localcluster-node-{network.network_address}"):
            return claim, network
    raise LocalClusterError(f"nodes of this machine use all address ranges like {ranges[0]}")
