"""What kubectl's streams are made of: WebSocket messages, and frames of SPDY in them."""

import contextlib
import os
import socket
import struct
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Ping,
    Pong,
    RejectConnection,
    Request,
)
from wsproto.utilities import LocalProtocolError

from localcluster.machine import clock
from localcluster.node import server
from localcluster.node.runtime import protocol
from localcluster.node.stream import forward, spdy
from localcluster.node.stream.channel import MAX_MESSAGE_BYTES, PIECE_BYTES, Channel
from localcluster.node.stream.exec import Exec
from localcluster.node.stream.forward import Forward
from tests.live import patience

SYN_REPLY = 0x8003 << 16 | spdy.SYN_REPLY


class Client:
    """The other end of a channel: sends and receives messages."""

    def __init__(self, *subprotocols: str) -> None:
        self.socket, self._theirs = socket.socketpair()
        self.socket.settimeout(patience.SECONDS)
        self._protocol = WSConnection(ConnectionType.CLIENT)
        self._subprotocols = [*subprotocols]
        self._events: list[Any] = []

    def connect(self, served: tuple[str, ...]) -> Channel:
        """A channel that serves these subprotocols."""
        request = self._protocol.send(Request("node", "/", subprotocols=self._subprotocols))
        lines = request.decode().split("\r\n")[1:-2]
        headers = [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
        channel = Channel(self._theirs, headers, served)
        self.answer = self.receive()
        return channel

    def receive(self) -> Any:
        while not self._events:
            self._protocol.receive_data(self.socket.recv(65536))
            self._events += self._protocol.events()
        return self._events.pop(0)

    def send(self, event: Any) -> None:
        self.socket.sendall(self._protocol.send(event))

    def close(self) -> None:
        self.socket.close()
        self._theirs.close()


@contextlib.contextmanager
def connected(*subprotocols: str) -> Iterator[tuple[Client, Channel]]:
    client = Client(*subprotocols)
    try:
        yield client, client.connect(("new", "old"))
    finally:
        client.close()


@pytest.mark.parametrize(
    ("wanted", "chosen"), [(("old", "new"), "new"), (("old",), "old"), (("other",), None)]
)
def test_the_first_subprotocol_that_both_know_is_chosen(wanted, chosen):
    with connected(*wanted) as (client, channel):
        assert channel.is_open == (chosen is not None)
        if chosen:
            assert isinstance(client.answer, AcceptConnection)
            assert client.answer.subprotocol == chosen
        else:
            assert isinstance(client.answer, RejectConnection)
            assert client.answer.status_code == 400


def test_the_parts_of_a_message_are_one():
    with connected("new") as (client, channel):
        messages = channel.messages()
        client.send(BytesMessage(b"one ", message_finished=False))
        client.send(BytesMessage(b"message"))
        client.send(BytesMessage(b"another"))
        assert [next(messages), next(messages)] == [b"one message", b"another"]


def test_fragments_without_end_close_the_connection():
    with connected("new") as (client, channel):
        piece = bytes(PIECE_BYTES)
        sent = threading.Thread(target=_send_parts, args=(client, piece))
        sent.start()
        assert [*channel.messages()] == []
        assert isinstance(client.receive(), CloseConnection)
        client.socket.shutdown(socket.SHUT_RDWR)
        sent.join(patience.SECONDS)
        assert not sent.is_alive()


def _send_parts(client: Client, piece: bytes) -> None:
    with contextlib.suppress(OSError, LocalProtocolError):  # the second: its close was read
        for _ in range(2 * MAX_MESSAGE_BYTES // len(piece)):
            client.send(BytesMessage(piece, message_finished=False))


def test_a_ping_is_answered():
    with connected("new") as (client, channel):
        client.send(Ping(b"there?"))
        client.send(BytesMessage(b"after it"))
        next(channel.messages())
        answer = client.receive()
        assert isinstance(answer, Pong)
        assert answer.payload == b"there?"


def test_messages_end_with_the_client():
    with connected("new") as (client, channel):
        client.socket.close()
        assert [*channel.messages()] == []


def test_nothing_is_sent_after_the_end():
    with connected("new") as (_, channel):
        channel.close()
        with pytest.raises(OSError, match="closed"):
            channel.send(b"late")


@pytest.mark.parametrize(
    "nonsense",
    [
        *(b"", b"\4[]", b"\4{}", b"\4{", b"\0after the end"),
        b'\4{"Height": 70000, "Width": 1}',
        b'\4{"Height": 24, "Width": 80}',  # it has no terminal
        b"\4" + b"[" * 100_000,
    ],
    ids=lambda message: str(message[:20]),
)
def test_nonsense_does_not_end_a_command(nonsense, mocker):
    channel, runtime = mocker.Mock(), mocker.Mock()
    channel.messages.return_value = iter([nonsense, nonsense])
    runtime.exec.side_effect = lambda _, __, streams: (mocker.Mock(), open_report(streams))
    Exec(channel, runtime, mocker.Mock(), {"input": ["1"]}).serve()
    assert next(channel.messages.return_value, None) is None


def open_report(streams: list[int]) -> int:
    """What a command that has ended leaves: closed streams, and no error."""
    for stream in streams:
        os.close(stream)
    return os.open(os.devnull, os.O_RDONLY)


def test_output_that_a_descendant_of_the_command_keeps_open_is_left(mocker):
    """As `sleep 1000 &` does in a shell: the client has its status, and goes."""
    channel, runtime, pipes = mocker.Mock(), mocker.Mock(), set[str]()
    kept = -1

    def run(_container: Any, _command: Any, streams: list[int]) -> tuple[Any, int]:
        nonlocal kept
        kept = os.dup(streams[1])
        pipes.update(str(Path(f"/proc/self/fd/{each}").readlink()) for each in streams)
        return mocker.Mock(end=mocker.Mock(exit_code=0)), open_report(streams)

    channel.messages.return_value = iter([])
    runtime.exec.side_effect = run
    Exec(channel, runtime, mocker.Mock(), {}).serve()
    assert clock.wait_until(lambda: not _threads("exec"), patience.SECONDS)
    assert b'"Success"' in channel.send.call_args[0][0]
    assert _ends_of(pipes) == [str(kept)]
    os.close(kept)


def test_a_client_that_leaves_ends_a_command_that_reads_nothing(mocker):
    with connected("new") as (client, channel):
        runtime = mocker.Mock()
        stdin: list[int] = []

        def run(_container: Any, _command: Any, streams: list[int]) -> tuple[Any, int]:
            stdin[:] = map(os.dup, streams)
            return mocker.Mock(end=mocker.Mock(exit_code=137)), open_report(streams)

        def kill(*_: Any) -> None:
            while stdin:
                os.close(stdin.pop())

        runtime.exec.side_effect, runtime.kill.side_effect = run, kill
        command = Exec(channel, runtime, mocker.Mock(), {"input": ["1"]})
        serving = threading.Thread(target=command.serve)
        serving.start()
        client.send(BytesMessage(bytes(MAX_MESSAGE_BYTES)))
        client.socket.close()
        serving.join(patience.SECONDS)
        assert not serving.is_alive()


def test_the_longest_command_reaches_the_spawner():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        message = {"op": "exec", "argv": [65536 * '"']}
        protocol.send(ours, message)
        assert protocol.receive(theirs) == (message, [])


def test_headers_that_grow_without_end_are_refused():
    deflate = zlib.compressobj(zdict=spdy.DICTIONARY)
    block = deflate.compress(bytes(2 * spdy.MAX_BLOCK_BYTES)) + deflate.flush(zlib.Z_SYNC_FLUSH)
    assert len(block) < 100, "a thousand empty words"
    with pytest.raises(ValueError, match="more than 4 KiB"):
        list(spdy.Spdy().receive(spdy.control(spdy.SYN_STREAM, bytes(10) + block)))


def test_a_frame_without_end_is_refused():
    header = struct.pack(">II", 1, spdy.MAX_FRAME_BYTES)
    with pytest.raises(ValueError, match="a frame of more than"):
        list(spdy.Spdy().receive(header))


class Kubectl:
    """The client's side of port-forward, over a channel."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._deflate = zlib.compressobj(9, zdict=spdy.DICTIONARY)
        self._inflate = zlib.decompressobj(zdict=spdy.DICTIONARY)
        self._left = b""

    def send(self, frame: bytes) -> None:
        self.client.send(BytesMessage(frame))

    def open(self, stream: int, kind: str, port: int, request: int = 0) -> None:
        """Open a stream, and see it accepted."""
        pairs = [("Streamtype", kind), ("Port", str(port)), ("Requestid", str(request))]
        words = [each.encode() for name, value in pairs for each in (name.lower(), value)]
        plain = struct.pack(">I", len(pairs)) + b"".join(len(w).to_bytes(4) + w for w in words)
        block = self._deflate.compress(plain) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        self.send(spdy.control(spdy.SYN_STREAM, struct.pack(">IIH", stream, 0, 0) + block))
        word, _, body = self.receive()
        assert (word, int.from_bytes(body[:4])) == (SYN_REPLY, stream)
        assert self._inflate.decompress(body[4:]) == bytes(4)

    def receive(self) -> tuple[int, bool, bytes]:
        """The next frame: its first word, whether it is the stream's last, and its body."""
        while len(self._left) < 8 or len(self._left) < 8 + self._length():
            event = self.client.receive()
            assert isinstance(event, BytesMessage)
            self._left += event.data
        end = 8 + self._length()
        word, is_last = int.from_bytes(self._left[:4]), bool(self._left[4] & spdy.FIN)
        body, self._left = self._left[8:end], self._left[end:]
        return word, is_last, body

    def _length(self) -> int:
        return int.from_bytes(self._left[5:8])


@pytest.fixture
def kubectl() -> Iterator[Kubectl]:
    """With a node that connects to the machine's own ports."""
    client = Client(*forward.SUBPROTOCOLS)
    channel = client.connect(forward.SUBPROTOCOLS)
    serving = Forward(channel, lambda port: socket.create_connection(("127.0.0.1", port)))
    thread = threading.Thread(target=serving.serve)
    thread.start()
    yield Kubectl(client)
    client.socket.close()
    thread.join(patience.SECONDS)
    client.close()
    assert not thread.is_alive()
    assert clock.wait_until(lambda: not _threads("forward"), patience.SECONDS)


def test_a_stream_that_is_reset_leaves_the_pod(kubectl):
    with socket.create_server(("127.0.0.1", 0)) as pod:
        pod.settimeout(patience.SECONDS)
        port = pod.getsockname()[1]
        kubectl.open(1, "error", port)
        kubectl.open(3, "data", port)
        connection, _ = pod.accept()
        with connection:
            connection.settimeout(patience.SECONDS)
            kubectl.send(spdy.control(spdy.RESET, struct.pack(">II", 3, 5)))
            assert connection.recv(1) == b""


@pytest.mark.parametrize("has_data", [True, False])
def test_connections_of_a_client_beyond_the_most_are_refused(kubectl, has_data):
    """Also where only streams of errors were opened, for connections that never come."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as pod:
        port = pod.getsockname()[1]
        for request in range(forward.MAX_CONNECTIONS):
            kubectl.open(4 * request + 1, "error", port, request)
            if has_data:
                kubectl.open(4 * request + 3, "data", port, request)
        kubectl.open(1001, "error", port, 999)
        kubectl.open(1003, "data", port, 999)
        word, _, body = kubectl.receive()
        assert word == 0x8003 << 16 | spdy.RESET
        assert struct.unpack(">II", body) == (1003, spdy.REFUSED)
        assert len(_threads("forward")) <= forward.MAX_CONNECTIONS


def test_stream_that_is_opened_twice_has_one_connection(kubectl):
    with socket.create_server(("127.0.0.1", 0)) as pod:
        port = pod.getsockname()[1]
        for request in range(3):
            kubectl.open(4 * request + 1, "error", port, request)
            kubectl.open(3, "data", port, request)
            if request:
                assert kubectl.receive()[0] == 0x8003 << 16 | spdy.RESET
        assert len(_threads("forward")) == 1


def test_a_pod_that_reads_nothing_does_not_keep_the_place_of_a_client_that_left(monkeypatch):
    monkeypatch.setattr(forward, "UNREAD_SECONDS", 1)
    client = Client(*forward.SUBPROTOCOLS)
    channel = client.connect(forward.SUBPROTOCOLS)
    with socket.create_server(("127.0.0.1", 0)) as pod:
        port = pod.getsockname()[1]
        serving = Forward(channel, lambda port: socket.create_connection(("127.0.0.1", port)))
        thread = threading.Thread(target=serving.serve)
        thread.start()
        kubectl = Kubectl(client)
        kubectl.open(1, "error", port)
        kubectl.open(3, "data", port)
        client.socket.settimeout(0.3)
        with contextlib.suppress(TimeoutError):
            while True:
                kubectl.send(spdy.data(3, bytes(PIECE_BYTES)))
        client.close()
        thread.join(patience.SECONDS)
        assert not thread.is_alive()
        assert clock.wait_until(lambda: not _threads("forward"), patience.SECONDS)


def _ends_of(pipes: set[str]) -> list[str]:
    """The descriptors of this process that are an end of one of these pipes."""
    ends = []
    for each in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # Not ours: closed while we look.
            if str(each.readlink()) in pipes:
                ends.append(each.name)
    return ends


def _threads(name: str) -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == name]


def test_clients_beyond_the_most_are_closed(monkeypatch, tmp_path):
    monkeypatch.setattr(server, "MAX_CLIENTS", 2)
    node = server.KubeletServer("127.0.0.1", tmp_path, None)
    threading.Thread(target=node.serve_forever, daemon=True).start()
    try:
        with contextlib.ExitStack() as stack:

            def connect() -> socket.socket:
                address = ("127.0.0.1", node.server_port)
                return stack.enter_context(socket.create_connection(address, patience.SECONDS))

            first, _ = connect(), connect()
            assert connect().recv(1) == b"", "closed"
            first.close()
            assert clock.wait_until(lambda: _is_kept(connect()), patience.SECONDS)
    finally:
        node.shutdown()
        node.server_close()


def test_a_thread_that_cannot_start_takes_no_place(monkeypatch, mocker, tmp_path):
    monkeypatch.setattr(server, "MAX_CLIENTS", 1)
    node = server.KubeletServer("127.0.0.1", tmp_path, None)
    with monkeypatch.context() as broken:
        broken.setattr(threading.Thread, "start", mocker.Mock(side_effect=RuntimeError))
        with pytest.raises(RuntimeError):
            node.process_request(mocker.Mock(), ("127.0.0.1", 1))
    threading.Thread(target=node.serve_forever, daemon=True).start()
    try:
        with socket.create_connection(("127.0.0.1", node.server_port)) as first:
            assert _is_kept(first)
    finally:
        node.shutdown()
        node.server_close()


def test_client_that_shows_no_certificate_keeps_no_place(monkeypatch, tmp_path):
    monkeypatch.setattr(server, "HANDSHAKE_SECONDS", 0.2)
    node = server.KubeletServer("127.0.0.1", tmp_path, None)
    threading.Thread(target=node.serve_forever, daemon=True).start()
    try:
        address = ("127.0.0.1", node.server_port)
        with socket.create_connection(address, patience.SECONDS) as silent:
            assert silent.recv(1) == b"", "closed"
    finally:
        node.shutdown()
        node.server_close()


def _is_kept(connection: socket.socket) -> bool:
    connection.settimeout(0.5)
    try:
        return bool(connection.recv(1))
    except TimeoutError:
        return True


def test_a_ping_of_spdy_comes_back(kubectl):
    ping = spdy.control(spdy.PING, (1).to_bytes(4))
    kubectl.send(ping[:5])
    kubectl.send(ping[5:])
    assert kubectl.receive() == (0x8003 << 16 | spdy.PING, False, (1).to_bytes(4))
