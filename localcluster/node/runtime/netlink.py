"""Network devices, addresses and routes: the few requests to the kernel that pod networks need.

Requests raise OSError with the kernel's message. The program `ip` could do the same, but is not
installed everywhere.
"""

import os
import socket
import struct

LOOPBACK = 1
RTM_NEWLINK, RTM_NEWADDR, RTM_NEWROUTE = 16, 20, 24
NLM_F_REQUEST, NLM_F_ACK, NLM_F_REPLACE, NLM_F_CREATE = 0x1, 0x4, 0x100, 0x400
IFF_UP = 1
IFLA_ADDRESS, IFLA_IFNAME, IFLA_MASTER, IFLA_LINKINFO, IFLA_NET_NS_FD = 1, 3, 10, 18, 28
IFLA_INFO_KIND, IFLA_INFO_DATA = 1, 2
VETH_INFO_PEER = 1
IFA_ADDRESS, IFA_LOCAL = 1, 2
RTA_DST, RTA_OIF, RTA_GATEWAY, RTA_PREFSRC = 1, 4, 5, 7
RT_TABLE_MAIN, RTPROT_STATIC = 254, 4
RTN_UNICAST, RTN_LOCAL = 1, 2
RT_SCOPE_UNIVERSE, RT_SCOPE_LINK, RT_SCOPE_HOST = 0, 253, 254
HEADER = struct.Struct("=IHHII")


class Netlink:
    """A netlink socket. It belongs to the network namespace in which it was created, even if the
    process moves to another.
    """

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._socket.bind((0, 0))

    def __enter__(self) -> "Netlink":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def set_up(self, index: int) -> None:
        """Switch a device on."""
        self._ask(RTM_NEWLINK, 0, _link(index))

    def add_bridge(self, name: str, index: int, address: bytes) -> None:
        """Add a bridge device with this index and Ethernet address, switched on."""
        kind = _attribute(IFLA_INFO_KIND, b"bridge")
        info = _attribute(IFLA_IFNAME, name.encode()) + _attribute(IFLA_LINKINFO, kind)
        info += _attribute(IFLA_ADDRESS, address)
        self._ask(RTM_NEWLINK, NLM_F_CREATE, _link(index) + info)

    def add_cable(self, bridge: int, name: str, namespace: int, index: int = 0) -> None:
        """Add a veth pair: a device `name`, switched off, in another network namespace, and its
        peer in the bridge. With `index` 0 the kernel chooses the index of the device.
        """
        other = _attribute(IFLA_IFNAME, name.encode()) + _number(IFLA_NET_NS_FD, namespace)
        peer = _attribute(VETH_INFO_PEER, _link(index, flags=0) + other)
        kind = _attribute(IFLA_INFO_KIND, b"veth") + _attribute(IFLA_INFO_DATA, peer)
        info = _number(IFLA_MASTER, bridge) + _attribute(IFLA_LINKINFO, kind)
        self._ask(RTM_NEWLINK, NLM_F_CREATE, _link(0) + info)

    def add_address(self, index: int, address: str, prefix: int) -> None:
        """Give a device an address; no error if it already has this address."""
        packed = socket.inet_aton(address)
        body = struct.pack("=BBBBI", socket.AF_INET, prefix, 0, RT_SCOPE_UNIVERSE, index)
        body += _attribute(IFA_LOCAL, packed) + _attribute(IFA_ADDRESS, packed)
        self._ask(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, body)

    def add_route(self, destination: str, prefix: int, index: int, source: str = "") -> None:
        """Route these addresses directly over this device; replaces an existing route."""
        body = _route(prefix, RT_SCOPE_LINK, RTN_UNICAST)
        body += _attribute(RTA_DST, socket.inet_aton(destination)) + _number(RTA_OIF, index)
        if source:
            body += _attribute(RTA_PREFSRC, socket.inet_aton(source))
        self._ask(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, body)

    def add_default_route(self, gateway: str) -> None:
        """Set the default route, or replace it."""
        body = _route(0, RT_SCOPE_UNIVERSE, RTN_UNICAST)
        body += _attribute(RTA_GATEWAY, socket.inet_aton(gateway))
        self._ask(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, body)

    def take_all_else(self) -> None:
        """Accept packets for every address without another route, as if it were our own."""
        body = _route(0, RT_SCOPE_HOST, RTN_LOCAL) + _number(RTA_OIF, LOOPBACK)
        self._ask(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, body)

    def _ask(self, kind: int, flags: int, body: bytes) -> None:
        flags |= NLM_F_REQUEST | NLM_F_ACK
        self._socket.send(HEADER.pack(HEADER.size + len(body), kind, flags, 0, 0) + body)
        answer = self._socket.recv(65536)
        number: int = struct.unpack_from("=i", answer, HEADER.size)[0]
        if number:
            raise OSError(-number, f"network: {os.strerror(-number)}")


def _route(prefix: int, scope: int, kind: int) -> bytes:
    family = (socket.AF_INET, prefix, 0, 0)
    return struct.pack("=BBBBBBBBI", *family, RT_TABLE_MAIN, RTPROT_STATIC, scope, kind, 0)


def _link(index: int, flags: int = IFF_UP) -> bytes:
    return struct.pack("=BxHiII", socket.AF_UNSPEC, 0, index, flags, flags)


def _attribute(kind: int, data: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)


def _number(kind: int, value: int) -> bytes:
    return _attribute(kind, struct.pack("=I", value))
