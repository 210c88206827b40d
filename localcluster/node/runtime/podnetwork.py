"""The network of a cluster's pods: each pod has a network namespace and an address of its own.

The bridge is in a further namespace, that of the process of `fabric.py`. Each pod's namespace has a
veth device whose peer is in the bridge, and so has that of the machine if its root makes the
network. The kernel removes a namespace with its devices when no process uses it any more.
"""

import contextlib
import errno
import json
import os
import re
import socket
import struct
from dataclasses import asdict, dataclass
from ipaddress import IPv4Network
from pathlib import Path
from typing import Self

from localcluster.node.runtime import linux
from localcluster.node.runtime.netlink import LOOPBACK, Netlink

FILE = "network.json"
RANGES, RANGE_PREFIX = ("198.18.0.0", "10.222.0.0", "100.96.0.0"), 15
"""Address ranges to choose from. The first is for benchmarks (RFC 2544); some proxies use it."""
DEFAULT_PREFIX = 8
"""A route with a shorter prefix counts as a default route, or as a part of one (0.0.0.0/1)."""
ROUTES = Path("/proc/net/route")
NODE_PREFIX = 22
API_ADDRESS, API_PORT = "10.96.0.1", 443
"""Where pods reach the API server: the first Service address. It also answers DNS queries."""
BRIDGE = DEVICE = 2
"""The index of the bridge, and of a pod's device: the first after the loopback device."""
BRIDGE_ADDRESS = b"\x02\0" + socket.inet_aton(API_ADDRESS)
"""A fixed Ethernet address. By default a bridge has the lowest address of its ports, which changes
as pods come and go; other pods send packets to the old address for up to 40 s.
"""
OWN = re.compile(r"lc\d+\s")
SETTINGS = Path("/proc/sys/net")
CLIENT_PORTS = "20000 29999"
"""Ports of outgoing connections. Jobs listen on higher ports: a connection from one of those would
keep a server from listening on it.
"""


@dataclass(frozen=True)
class PodNetwork:
    """The pid of the network's process, the machine's device if it has one, the first address."""

    pid: int
    device: str
    first_address: str

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """Read the file of `write`; None without one: then pods share the machine's network."""
        path = folder / FILE
        return cls(**json.loads(path.read_text())) if path.exists() else None

    def write(self, folder: Path) -> None:
        """Write this description for the nodes to a file in `folder`, atomically."""
        new = folder / f".{FILE}"
        new.write_text(json.dumps(asdict(self)))
        new.rename(folder / FILE)

    @property
    def subnets(self) -> list[IPv4Network]:
        """The pod address range of each possible node."""
        network = IPv4Network(f"{self.first_address}/{RANGE_PREFIX}")
        return list(network.subnets(new_prefix=NODE_PREFIX))

    def open(self) -> int:
        """Open a descriptor of the bridge's namespace. Raises OSError."""
        return os.open(f"/proc/{self.pid}/ns/net", os.O_RDONLY)

    def attach_node(self, address: str, subnet: str) -> None:
        """Give the machine a node's address and a route to its pods. Raises OSError."""
        index = socket.if_nametoindex(self.device)
        with Netlink() as kernel:
            kernel.set_up(index)
            kernel.add_address(index, address, 32)
            kernel.add_route(subnet, NODE_PREFIX, index, address)


def choose_range(routes: str) -> str:
    """The first address of a range for which the machine has no route but its default one.

    `routes` is the text of ROUTES. Routes of other local clusters are ignored, because each node
    claims its own part of a range. Raises OSError if no range is free.
    """
    taken = [_destination(line) for line in routes.splitlines()[1:] if not OWN.match(line)]
    taken = [each for each in taken if each.prefixlen >= DEFAULT_PREFIX]
    for first in RANGES:
        network = IPv4Network(f"{first}/{RANGE_PREFIX}")
        if not any(network.overlaps(each) for each in taken):
            return first
    ranges = ", ".join(f"{each}/{RANGE_PREFIX}" for each in RANGES)
    raise OSError(errno.EADDRINUSE, f"this machine has routes for addresses of each of {ranges}")


def _destination(line: str) -> IPv4Network:
    fields = line.split()
    address, mask = (struct.pack("=I", int(fields[number], 16)) for number in (1, 7))
    return IPv4Network(f"{socket.inet_ntoa(address)}/{socket.inet_ntoa(mask)}", strict=False)


def read_resolver() -> str:
    """The machine's /etc/resolv.conf; empty where it has none."""
    path = Path("/etc/resolv.conf")
    return path.read_text() if path.exists() else ""


def build_resolver() -> str:
    """A pod's resolv.conf: that of the machine, but with API_ADDRESS as the only name server."""
    lines = [line for line in read_resolver().splitlines() if not line.startswith("nameserver")]
    return "\n".join([*lines, f"nameserver {API_ADDRESS}"]) + "\n"


def open_own() -> int:
    """Open a descriptor of this thread's network namespace."""
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY)


def make_bridge(machine: int, first_address: str) -> str:
    """Create the bridge in this thread's new network namespace, and a device in the machine's.

    `machine` is the descriptor of the machine's. Returns the device's name, or nothing if this
    user may make none there. Raises OSError.
    """
    _configure()
    name = f"lc{os.getpid()}"  # OWN must match the name
    with Netlink() as kernel:
        kernel.set_up(LOOPBACK)
        kernel.add_bridge("pods", BRIDGE, BRIDGE_ADDRESS)
        kernel.add_address(BRIDGE, API_ADDRESS, 32)
        kernel.add_route(first_address, RANGE_PREFIX, BRIDGE)
        kernel.take_all_else()
        try:
            kernel.add_cable(BRIDGE, name, machine)
        except PermissionError:
            return ""
    return name


def make_pod_network(fabric: int, address: str) -> int:
    """Create a network namespace with this address, connect it with the bridge in namespace
    `fabric`, and return its descriptor. Raises OSError.

    Afterwards, also after an error, the calling thread is in another namespace than before.
    """
    linux.setns(fabric, linux.CLONE_NEWNET)
    with Netlink() as bridge:
        linux.unshare(linux.CLONE_NEWNET)
        own = open_own()
        try:
            _configure()
            bridge.add_cable(BRIDGE, "eth0", own, DEVICE)
            with Netlink() as kernel:
                kernel.set_up(LOOPBACK)
                kernel.set_up(DEVICE)
                kernel.add_address(DEVICE, address, RANGE_PREFIX)
                kernel.add_route(API_ADDRESS, 32, DEVICE)
                kernel.add_default_route(API_ADDRESS)
        except OSError:
            os.close(own)
            raise
    return own


def _configure() -> None:
    """Set the client ports. Disable IPv6, whose neighbour discovery would flood a large bridge."""
    for name, value in (
        ("ipv6/conf/default/disable_ipv6", "1"),
        ("ipv4/ip_local_port_range", CLIENT_PORTS),
    ):
        with contextlib.suppress(OSError):  # in some containers /proc/sys is read-only
            (SETTINGS / name).write_text(value)
