"""The protocol between node and spawner: JSON messages and descriptors over a packet socket.

A message is one packet. A container's specification can be larger than a packet (one variable can
have 128 KiB), so it is passed as a file in the container's scratch folder.
"""

import errno
import json
import os
import pickle
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

MAX_PACKET_BYTES = 160 << 10
"""The command of the longest request has 64 KiB, and twice as many in JSON; Linux sends 208 KiB."""
MAX_DESCRIPTORS = 8


@dataclass(frozen=True)
class Mount:
    """`source` appears at `target` in the container.

    With `overlay` the container sees a private copy of `source`. With `if_hidden` nothing is
    mounted if `target` already exists in the container.
    """

    source: str
    target: str
    read_only: bool = False
    overlay: bool = False
    if_hidden: bool = False


@dataclass(frozen=True)
class ContainerSpec:
    """Everything that the spawner needs to run one container.

    `scratch` and `etc` are paths on the node, `workdir` is one in the container. `network` is the
    UID of the pod, or empty for the machine's network.
    """

    argv: list[str]
    env: dict[str, str]
    workdir: str
    hostname: str
    scratch: str
    etc: str
    mounts: list[Mount]
    memory_limit_bytes: int
    read_only_root: bool
    network: str

    def write(self) -> str:
        """Write this into a file that only its owner can read; return the file's path."""
        path = Path(self.scratch, "spec")
        path.touch(0o600)
        path.write_bytes(pickle.dumps(self))
        return str(path)

    @classmethod
    def read(cls, path: str) -> Self:
        """Read a file of `write`."""
        spec: Self = pickle.loads(Path(path).read_bytes())
        return spec


def send(
    channel: socket.socket, message: Mapping[str, object], descriptors: Sequence[int] = ()
) -> None:
    """Send one message with descriptors, which the caller must still close.

    Raises OSError, also if the message is longer than the receiver's buffer.
    """
    packet = json.dumps(message).encode()
    if len(packet) > MAX_PACKET_BYTES:
        raise OSError(errno.EMSGSIZE, os.strerror(errno.EMSGSIZE))
    socket.send_fds(channel, [packet], [*descriptors])


def receive(channel: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """The next message and its descriptors; None when the other side has closed the socket."""
    data, descriptors, _, _ = socket.recv_fds(channel, MAX_PACKET_BYTES, MAX_DESCRIPTORS)
    if not data:
        return None, []
    return json.loads(data), descriptors
