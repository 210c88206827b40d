"""HTTP/1.1 over real sockets, against peers that speak it well, badly, or not at all."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from controller.http1 import MAX_LINE_BYTES, Endpoint, HttpError, Pool, Request, Timeouts

TIMEOUTS = Timeouts(connect=30.0, read=30.0)
GET = Request("GET", "/x", {"Accept": "application/json"})
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Cut(bytes):
    """An answer that ends there, and the connection with it."""


class Peer:
    """Accepts connections and answers each request head with the next of its answers.

    An answer None closes the connection, a `Cut` does so once it is sent. What was
    received is kept, a string a request.
    """

    def __init__(self, *answers: bytes | None, tls: ssl.SSLContext | None = None) -> None:
        self.answers = list(answers)
        self.received: list[str] = []
        self.accepted = 0
        self._tls = tls
        self._is_closed = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint("127.0.0.1", self._listener.getsockname()[1], None)

    def close(self) -> None:
        self._is_closed = True
        for connection in [*self._open, self._listener]:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        self._thread.join(30)
        for connection in [*self._open, self._listener]:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
                self._open.append(connection)
                self.accepted += 1
                self._serve(connection)
            except OSError:
                if self._is_closed:
                    return

    def _serve(self, connection: socket.socket) -> None:
        while self.answers:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                data = connection.recv(65536)
                if not data:
                    return
                head += data
            self.received.append(head.decode())
            answer = self.answers.pop(0)
            if answer is None:
                connection.shutdown(socket.SHUT_RDWR)
                return
            connection.sendall(answer)
            if isinstance(answer, Cut):
                connection.shutdown(socket.SHUT_RDWR)
                return
            if self._tls is not None and head.startswith(b"CONNECT"):
                connection = self._tls.wrap_socket(connection, server_side=True)
                self._open.append(connection)


@pytest.fixture
def peer_of() -> Iterator[Callable[..., Peer]]:
    peers: list[Peer] = []

    def make(*answers: bytes | None, tls: ssl.SSLContext | None = None) -> Peer:
        peers.append(Peer(*answers, tls=tls))
        return peers[-1]

    yield make
    for peer in peers:
        peer.close()


@pytest.fixture
def exchange() -> Iterator[Callable]:
    """One request on a pool of the endpoint; the pool is the same for the same endpoint."""
    pools: dict[Endpoint, Pool] = {}

    def exchange(endpoint: Endpoint, request: Request = GET, timeouts: Timeouts = TIMEOUTS):
        pool = pools.setdefault(endpoint, Pool(endpoint, 2))
        return pool.exchange(request, timeouts)[0]

    yield exchange
    for pool in pools.values():
        pool.close()


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
BODIES = {
    "of a length": b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
    "in chunks": CHUNKED + b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
    "with extensions": CHUNKED + b"5;x=y\r\nhello\r\n0\r\n\r\n",
    "with trailers": CHUNKED + b"5\r\nhello\r\n0\r\nA: b\r\n\r\n",
    "after an interim answer": b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "without a reason": b"HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
}


@pytest.mark.parametrize("answer", BODIES.values(), ids=BODIES.keys())
def test_a_body_is_read_and_the_connection_serves_again(peer_of, exchange, answer):
    peer = peer_of(answer, OK)
    assert exchange(peer.endpoint).body == b"hello"
    assert exchange(peer.endpoint).body == b"ok"
    assert peer.accepted == 1


def test_a_body_may_end_with_the_connection(peer_of, exchange):
    peer = peer_of(Cut(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"))
    assert exchange(peer.endpoint).body == b"hello"


@pytest.mark.parametrize("code", [204, 304])
def test_some_answers_have_no_body(peer_of, exchange, code):
    peer = peer_of(f"HTTP/1.1 {code} x\r\n\r\n".encode(), OK)
    assert exchange(peer.endpoint).body == b""
    assert exchange(peer.endpoint).body == b"ok"


@pytest.mark.parametrize(
    "head",
    [b"HTTP/1.1 200 OK\r\nConnection: close", b"HTTP/1.0 200 OK"],
    ids=["Connection: close", "HTTP/1.0"],
)
def test_a_connection_that_will_close_is_not_used_again(peer_of, exchange, head):
    peer = peer_of(head + b"\r\nContent-Length: 2\r\n\r\nok", OK)
    exchange(peer.endpoint)
    peer._open[0].shutdown(socket.SHUT_RDWR)
    exchange(peer.endpoint)
    assert peer.accepted == 2


def test_a_connection_that_was_closed_while_idle_is_replaced(peer_of, exchange):
    peer = peer_of(OK, OK)
    exchange(peer.endpoint)
    peer._open[0].shutdown(socket.SHUT_RDWR)
    assert exchange(peer.endpoint).body == b"ok"
    assert peer.accepted == 2


BROKEN = {
    "no HTTP": b"SSH-2.0-OpenSSH\r\n\r\n",
    "no status": b"HTTP/1.1 abc OK\r\n\r\n",
    "cut in the head": None,
    "garbage for a chunk's size": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a line without an end": b"HTTP/1.1 200 OK\r\nA: " + b"a" * 2 * MAX_LINE_BYTES,
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN.keys())
def test_what_is_no_answer_raises(peer_of, exchange, answer):
    with pytest.raises(OSError):
        exchange(peer_of(answer).endpoint)


@pytest.mark.parametrize(
    "head", [b"Content-Length: 10", b"Transfer-Encoding: chunked"], ids=["length", "chunked"]
)
def test_a_cut_body_raises(peer_of, exchange, head):
    peer = peer_of(Cut(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n5\r\nhel"))
    with pytest.raises(HttpError, match="middle"):
        exchange(peer.endpoint)


def test_a_silent_peer_raises_after_the_read_timeout(peer_of, exchange):
    with pytest.raises(TimeoutError):
        exchange(peer_of(b"").endpoint, timeouts=Timeouts(5.0, 0.05))


def test_nothing_listens(exchange):
    with pytest.raises(ConnectionRefusedError):
        exchange(Endpoint("127.0.0.1", 1, None))


def test_sends_what_it_was_given(peer_of, exchange):
    peer = peer_of(OK)
    exchange(peer.endpoint)
    assert peer.received[0].split("\r\n")[:3] == [
        "GET /x HTTP/1.1",
        f"Host: {peer.endpoint.authority}",
        "Accept: application/json",
    ]


@pytest.mark.parametrize("bad", ["a\r\nX: y", "a\nb", "a\0b"], ids=["CRLF", "LF", "NUL"])
def test_a_header_never_becomes_two(peer_of, exchange, bad):
    peer = peer_of(OK)
    with pytest.raises(ValueError, match="control character"):
        exchange(peer.endpoint, Request("GET", "/x", {"Authorization": bad}))
    assert peer.received == []


@pytest.mark.parametrize(
    ("host", "authority"), [("10.0.0.1", "10.0.0.1:443"), ("fd00::1", "[fd00::1]:443")]
)
def test_an_ipv6_host_stands_in_brackets(host, authority):
    assert Endpoint(host, 443, None).authority == authority


# Streams


def test_a_stream_tells_when_all_that_has_come_is_read(peer_of):
    peer = peer_of(CHUNKED + b"1\r\na\r\n1\r\nb\r\n")
    pool = Pool(peer.endpoint, 1)
    _, stream = pool.exchange(GET, TIMEOUTS, is_stream=True)
    seen: list[object] = []

    def before_wait() -> None:
        seen.append("waits")
        stream.close()

    for chunk in stream.chunks(before_wait):
        seen.append(chunk)
    stream.release()
    assert seen == [b"a", b"b", "waits"]


# TLS and proxies


@pytest.fixture(scope="session")
def certificate(tmp_path_factory) -> str:
    """A file with a key and a certificate of its own for 127.0.0.1."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), False
        )
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + built.public_bytes(serialization.Encoding.PEM)
    )
    return str(path)


@pytest.fixture
def server_tls(certificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture
def client_tls(certificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(certificate)
    return context


ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


def test_goes_through_a_proxy_to_a_server_that_it_verifies(
    peer_of, exchange, server_tls, client_tls
):
    proxy = peer_of(ESTABLISHED, OK, tls=server_tls)
    url = f"http://me:p%40ss@127.0.0.1:{proxy.endpoint.port}"
    endpoint = Endpoint("127.0.0.1", 6443, client_tls, proxy=url)
    assert exchange(endpoint).body == b"ok"
    connect, get = proxy.received
    assert connect.startswith("CONNECT 127.0.0.1:6443 HTTP/1.1")
    assert "Proxy-Authorization: Basic bWU6cEBzcw==" in connect
    assert get.startswith("GET /x HTTP/1.1")


def test_a_server_that_nobody_vouches_for_is_refused(peer_of, exchange, server_tls):
    proxy = peer_of(ESTABLISHED, OK, tls=server_tls)
    url = f"http://127.0.0.1:{proxy.endpoint.port}"
    stranger = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with pytest.raises(ssl.SSLCertVerificationError):
        exchange(Endpoint("127.0.0.1", 6443, stranger, proxy=url))


def test_a_proxy_that_refuses_is_told(peer_of, exchange, client_tls):
    proxy = peer_of(b"HTTP/1.1 403 Forbidden\r\n\r\n")
    url = f"http://127.0.0.1:{proxy.endpoint.port}"
    with pytest.raises(HttpError, match="403"):
        exchange(Endpoint("127.0.0.1", 6443, client_tls, proxy=url))
