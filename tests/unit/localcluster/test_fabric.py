"""What leads from the pods' network to the machine's; here both are the loopback network."""

import socket
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest

from localcluster.machine import clock
from localcluster.machine.ports import claim_port
from tests.live import patience

ROOT = Path(__file__).parents[3]
FILES = 64
API = "127.0.96.1"
PROGRAM = """
import asyncio, pathlib, resource, sys
from localcluster.node.runtime import fabric

api, web, names, server, files = map(int, sys.argv[2:7])
resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
fabric.API_ADDRESS, fabric.API_PORT, fabric.NAMES_PORT = sys.argv[1], api, names
fabric.WEB_PORTS, fabric.CONNECT_SECONDS = (api, web), 1.0
fabric.read_resolver = pathlib.Path(sys.argv[7]).read_text
asyncio.run(fabric.Forwarder(("127.0.0.1", server)).serve(*fabric.listen()))
"""


class Count(socketserver.BaseRequestHandler):
    """Says how many bytes it has read, once there will be no more."""

    def handle(self) -> None:
        with suppress(OSError):
            self.request.sendall(b"%d" % len(read_all(self.request)))


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128


def read_all(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.fixture
def ports() -> Iterator[list[int]]:
    """Those of the API server, the web and names in the pods' network."""
    with ExitStack() as stack:
        claimed = [claim_port() for _ in range(3)]
        for _, claim in claimed:
            stack.enter_context(claim)
        yield [port for port, _ in claimed]


@pytest.fixture
def resolver(tmp_path: Path) -> Path:
    """The machine's file of its name server."""
    file = tmp_path / "resolv.conf"
    file.write_text("nameserver 127.0.0.1\n")
    return file


@pytest.fixture
def server() -> Iterator[int]:
    """The port of an API server that counts."""
    with serve(("127.0.0.1", 0)) as port:
        yield port


@contextmanager
def serve(address: tuple[str, int]) -> Iterator[int]:
    with Server(address, Count) as counter:
        threading.Thread(target=counter.serve_forever).start()
        try:
            yield counter.server_address[1]
        finally:
            counter.shutdown()


@contextmanager
def fabric(ports: list[int], server: int, resolver: Path) -> Iterator[None]:
    """The forwarder, when it answers."""
    arguments = [API, *map(str, ports), str(server), str(FILES), str(resolver)]
    command = [sys.executable, "-c", PROGRAM, *arguments]
    with subprocess.Popen(command, cwd=ROOT) as process:
        try:
            for port in (ports[0], ports[2]):  # here the one of the web would lead to itself
                assert clock.wait_until(lambda port=port: is_listening(port), patience.SECONDS)
            yield
        finally:
            process.kill()


def is_listening(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex((API, port)) == 0


def ask(port: int, data: bytes) -> bytes:
    """Send the whole request at once; the answer."""
    with socket.create_connection((API, port), patience.SECONDS) as client:
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        return read_all(client)


def test_who_has_said_all_gets_the_answer(ports, server, resolver):
    with fabric(ports, server, resolver):
        assert ask(ports[0], b"x" * 1_000_000) == b"1000000"


def test_more_connections_than_files_wait_for_their_turn(ports, server, resolver):
    with fabric(ports, server, resolver):
        with ExitStack() as stack:
            for _ in range(FILES):
                client = socket.create_connection((API, ports[0]), patience.SECONDS)
                stack.enter_context(closing(client))
                client.sendall(b"x")
        assert ask(ports[0], b"abc") == b"3"


def test_names_are_asked_for_over_tcp_too(ports, server, resolver):
    with serve(("127.0.0.1", ports[2])), fabric(ports, server, resolver):
        assert ask(ports[2], b"question") == b"8"


def test_a_server_that_does_not_take_the_connection_ends_it(ports, resolver):
    with ExitStack() as stack:
        silent = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):  # the kernel takes some for a listener that does not
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(silent.getsockname())
        stack.enter_context(fabric(ports, silent.getsockname()[1], resolver))
        assert ask(ports[0], b"") == b""


def test_names_are_asked_of_the_machines_present_server(ports, server, resolver):
    with ExitStack() as stack:
        for last in (1, 2):
            echo = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            echo.bind((f"127.0.0.{last}", ports[2]))
            threading.Thread(target=answer_one, args=(echo,), daemon=True).start()
        client = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        client.settimeout(patience.SECONDS)
        stack.enter_context(fabric(ports, server, resolver))
        for last in (1, 2):
            resolver.write_text(f"search a\nnameserver 127.0.0.{last}\n")
            client.sendto(b"question", (API, ports[2]))
            assert client.recv(100) == b"127.0.0.%d" % last


def answer_one(names: socket.socket) -> None:
    _, who = names.recvfrom(100)
    names.sendto(names.getsockname()[0].encode(), who)
