"""The process that owns the pods' network and forwards connections from it to the API server.

    python -m localcluster.node.runtime.fabric FOLDER HOST:PORT

If the machine allows such a network, it writes a description of the network into FOLDER and serves
until it is killed; otherwise it prints the reason and ends. It moves into the network's namespace,
which receives all packets that pods send to addresses outside. A child stays in the machine's, for
only root could return there. It accepts the pods' connections by sockets of the first, and forwards
them through the machine's network to the API server at HOST:PORT, to ports 80 and 443 of any other
address, and to the machine's name server.
"""

import asyncio
import contextlib
import os
import re
import resource
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, cast

from localcluster.machine.guard import die_with_parent, exit_code
from localcluster.node.runtime import linux
from localcluster.node.runtime.podnetwork import (
    API_ADDRESS,
    API_PORT,
    ROUTES,
    PodNetwork,
    choose_range,
    make_bridge,
    open_own,
    read_resolver,
)
from localcluster.node.runtime.protocol import receive, send

PIECE_BYTES = 65536
CONNECT_SECONDS = 30.0
ACCEPT_RETRY_SECONDS = 0.1
MAX_FILES = 65536
WEB_PORTS = (80, API_PORT)
NAMES_PORT = 53
NAMES_SECONDS = 10.0
SERVER_FAILURE = b"\x81\x82"
NOT_HERE = (
    "pods share this machine's network, so one job runs at a time: this machine does not "
    "allow networks for pods"
)


class Forwarder:
    """Forwards pods' connections to the API server, to web ports and to the name server."""

    def __init__(self, server: tuple[str, int]) -> None:
        self._server = server
        # Further clients wait in the kernel: accepting without free descriptors is a busy loop.
        self._free = asyncio.Semaphore(most_connections())
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, queries: socket.socket, *listeners: socket.socket) -> None:
        """Serve the sockets of `listen` until killed."""
        loop = asyncio.get_running_loop()
        await loop.create_datagram_endpoint(lambda: Names(name_server), sock=queries)
        await asyncio.gather(*(self._accept(each) for each in listeners))

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        listener.setblocking(False)
        while True:
            await self._free.acquire()
            try:
                client, _ = await loop.sock_accept(listener)
            except OSError:  # the client has disconnected, or no descriptor is free
                self._free.release()
                await asyncio.sleep(ACCEPT_RETRY_SECONDS)
                continue
            task = loop.create_task(self._connect(client))
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._free.release()

    async def _connect(self, client: socket.socket) -> None:
        loop, stream = asyncio.get_running_loop(), socket.SOCK_STREAM
        with client, contextlib.suppress(OSError, TimeoutError), new_socket(stream) as there:
            async with asyncio.timeout(CONNECT_SECONDS):
                await loop.sock_connect(there, self._target(client.getsockname()))
            await _join(client, there)

    def _target(self, asked: tuple[str, int]) -> tuple[str, int]:
        """The address to connect to for a pod that connects to `asked`."""
        if asked == (API_ADDRESS, NAMES_PORT):
            return name_server(), NAMES_PORT
        return self._server if asked == (API_ADDRESS, API_PORT) else asked


class Names(asyncio.DatagramProtocol):
    """Forwards the pods' DNS queries to the machine's name server, and returns the answers."""

    def __init__(self, server: Callable[[], str]) -> None:
        self._server = server  # called for each query, because a machine can change networks
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called when listening has begun."""
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Called for each query."""
        task = asyncio.get_running_loop().create_task(self._answer(data, addr))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, question: bytes, addr: tuple[str, int]) -> None:
        loop = asyncio.get_running_loop()
        try:
            with new_socket(socket.SOCK_DGRAM) as there:
                await loop.sock_connect(there, (self._server(), NAMES_PORT))
                await loop.sock_sendall(there, question)
                async with asyncio.timeout(NAMES_SECONDS):
                    answer = await loop.sock_recv(there, PIECE_BYTES)
        except (OSError, TimeoutError):
            answer = question[:2] + SERVER_FAILURE + question[4:]
        self._transport.sendto(answer, addr)


def new_socket(kind: int) -> socket.socket:
    """A non-blocking socket."""
    new = socket.socket(socket.AF_INET, kind)
    new.setblocking(False)
    return new


def listen() -> list[socket.socket]:
    """Listen for the pods' DNS queries and for their connections."""
    queries = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    queries.bind((API_ADDRESS, NAMES_PORT))
    addresses = [*(("0.0.0.0", port) for port in WEB_PORTS), (API_ADDRESS, NAMES_PORT)]
    return [queries, *(socket.create_server(each, backlog=1024) for each in addresses)]


def name_server() -> str:
    """The machine's first name server with an IPv4 address, or 127.0.0.1."""
    found = re.search(r"^nameserver\s+([\d.]+)\s*$", read_resolver(), re.MULTILINE)
    return found[1] if found else "127.0.0.1"


def most_connections() -> int:
    """Raise this process's limit of open files, and return how many connections to allow. They can
    use three quarters of the limit, two descriptors each.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = min(most, MAX_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
    return files * 3 // 8


async def _join(first: socket.socket, second: socket.socket) -> None:
    """Copy in both directions until both have ended or one fails."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_copy(first, second))
            group.create_task(_copy(second, first))
    except* OSError:
        pass


async def _copy(source: socket.socket, target: socket.socket) -> None:
    """Copy in one direction until its end, and pass the end on; the other direction can go on."""
    loop = asyncio.get_running_loop()
    while piece := await loop.sock_recv(source, PIECE_BYTES):
        await loop.sock_sendall(target, piece)
    target.shutdown(socket.SHUT_WR)


def build(folder: Path) -> list[socket.socket]:
    """Move this process into a new network, describe it in `folder`, and listen there. Raises
    OSError.
    """
    first_address = choose_range(ROUTES.read_text())
    machine = open_own()
    linux.unshare_as_root(linux.CLONE_NEWNET)
    name = make_bridge(machine, first_address)
    listening = listen()
    PodNetwork(os.getpid(), name, first_address).write(folder)
    return listening


def serve(channel: socket.socket, server: str) -> NoReturn:
    """Forward what comes to the sockets that come by `channel`, until killed."""
    message, descriptors = receive(channel)
    if message is not None:
        host, _, port = server.rpartition(":")
        listening = [socket.socket(fileno=each) for each in descriptors]
        asyncio.run(Forwarder((host, int(port))).serve(*listening))
    os._exit(1)


def main(folder: Path, server: str) -> int:
    """Build the network and serve until a signal; return 0 if the network cannot be built."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    parent, child = os.getpid(), os.fork()
    if child == 0:
        die_with_parent(parent)
        ours.close()
        serve(theirs, server)
    theirs.close()
    try:
        listening = build(folder)
    except OSError as error:
        print(f"{NOT_HERE} ({error})", flush=True)
        return 0
    send(ours, {}, [each.fileno() for each in listening])
    return exit_code(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
