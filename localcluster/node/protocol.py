"""What node and spawner say to each other: JSON messages over a packet socket, descriptors beside.

A message is one packet. A container's specification may be larger than a packet (one variable may
hold 128 KiB), so it travels as a memory file whose descriptor goes along.
"""

import json
import os
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

MAX_PACKET_BYTES = 65536
MAX_DESCRIPTORS = 8


@dataclass(frozen=True)
class Mount:
    """`source` appears at `target` in the container.

    With `overlay` as a private copy; with `if_hidden` only where the path shows nothing yet.
    """

    source: str
    target: str
    read_only: bool = False
    overlay: bool = False
    if_hidden: bool = False


@dataclass(frozen=True)
class ContainerSpec:
    """All that the spawner needs to run one container; paths are the node's."""

    argv: list[str]
    env: dict[str, str]
    workdir: str
    hostname: str
    scratch: str
    mounts: list[Mount] = field(default_factory=list)
    memory_limit_bytes: int = 0
    read_only_root: bool = False
    etc: str = ""

    def to_json(self) -> bytes:
        """As it travels to the spawner."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, data: bytes) -> "ContainerSpec":
        """The inverse of `to_json`."""
        raw = json.loads(data)
        raw["mounts"] = [Mount(**mount) for mount in raw["mounts"]]
        return cls(**raw)


def send(channel: socket.socket, message: Mapping[str, object], descriptors: list[int]) -> None:
    """Send one message, and descriptors that stay the sender's to close."""
    data = json.dumps(message).encode()
    if descriptors:
        socket.send_fds(channel, [data], descriptors)
    else:
        channel.send(data)


def receive(channel: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """The next message and its descriptors; None at the end of the other side."""
    data, descriptors, _, _ = socket.recv_fds(channel, MAX_PACKET_BYTES, MAX_DESCRIPTORS)
    if not data:
        return None, []
    return json.loads(data), descriptors


def to_memory_file(data: bytes) -> int:
    """A descriptor from which `data` can be read once, from its start."""
    descriptor = os.memfd_create("spec")
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def read_all(descriptor: int) -> bytes:
    """What is in the file from where it stands; closes the descriptor."""
    with os.fdopen(descriptor, "rb") as file:
        return file.read()
