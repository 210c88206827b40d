"""HTTP/1.1 over real sockets, against peers that speak it well, badly, or not at all."""

import dataclasses
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from http.client import HTTPException

import pytest

from kube.http import (
    IDLE_SECONDS,
    NETWORK_ERRORS,
    Endpoint,
    Pool,
    Request,
    Response,
    Stream,
    Timeouts,
)
from tests.live import patience
from tests.unit.controller.fakes import ended, eventually, reply

TIMEOUTS = Timeouts(connect=30.0, read=30.0)
GET = Request("GET", "/x", {"Accept": "application/json"})
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


class Cut(bytes):
    """An answer that ends there, and the connection with it."""


class Peer:
    """Answers each request head with the next of its answers, one connection at a time.

    A `Cut` closes the connection once it is sent; an empty answer says nothing. What was received
    is kept, a string a request. With `tls` a peer speaks it from the start, or, where the first
    request is a CONNECT, behind that.
    """

    def __init__(self, *answers: bytes, tls: ssl.SSLContext | None = None) -> None:
        self.answers = list(answers)
        self.received: list[str] = []
        self.accepted: list[socket.socket] = []
        self.names: list[str] = []
        """Which server names TLS clients asked for."""
        self._tls = tls
        if tls is not None:
            tls.sni_callback = lambda _, name, __: self.names.append(name)
        self._is_closed = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint("127.0.0.1", self.port, None)

    def hang_up(self) -> None:
        """Close every connection, as a server does with idle ones."""
        for connection in self.accepted:
            with suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def close(self) -> None:
        self._is_closed = True
        self.hang_up()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(30)
        for connection in [*self.accepted, self._listener]:
            connection.close()

    def _accept(self) -> None:
        while not self._is_closed:
            with suppress(OSError):
                self._serve(self._listener.accept()[0])

    def _serve(self, connection: socket.socket) -> None:
        self.accepted.append(connection)
        is_proxy = self.answers[0] == ESTABLISHED
        if self._tls is not None and not is_proxy:
            connection = self._start_tls(connection)
        while self.answers:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                data = connection.recv(65536)
                if not data:
                    return
                head += data
            self.received.append(head.decode())
            answer = self.answers.pop(0)
            connection.sendall(answer)
            if isinstance(answer, Cut):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
                return
            if self._tls is not None and head.startswith(b"CONNECT"):
                connection = self._start_tls(connection)
        connection.recv(1)  # until the client has closed

    def _start_tls(self, connection: socket.socket) -> socket.socket:
        assert self._tls is not None
        wrapped = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        self.accepted[-1] = wrapped
        wrapped.do_handshake()
        return wrapped


@pytest.fixture
def peer_of() -> Iterator[Callable[..., Peer]]:
    with ended(Peer, Peer.close) as make:
        yield make


@pytest.fixture
def pool_of(clock) -> Iterator[Callable[[Endpoint], Pool]]:
    """The same pool for the same endpoint, on a clock that the test steps."""
    pools: dict[Endpoint, Pool] = {}
    yield lambda endpoint: pools.setdefault(endpoint, Pool(endpoint, 5, clock))
    for pool in pools.values():
        pool.close()


@pytest.fixture
def exchange(pool_of) -> Callable[..., Response]:
    """One request on the pool of an endpoint."""

    def exchange(
        endpoint: Endpoint, request: Request = GET, timeouts: Timeouts = TIMEOUTS
    ) -> Response:
        return pool_of(endpoint).exchange(request, timeouts)

    return exchange


BODIES = {
    "of a length": b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
    "in chunks": CHUNKED + b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
    "with extensions": CHUNKED + b"5;x=y\r\nhello\r\n0\r\n\r\n",
    "with trailers": CHUNKED + b"5\r\nhello\r\n0\r\nA: b\r\n\r\n",
    "after 100": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "without a reason": b"HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
    "of a length told twice": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n"
    b"hello",
    "kept by HTTP/1.0": b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\n"
    b"hello",
}


@pytest.mark.parametrize("answer", BODIES.values(), ids=BODIES.keys())
@pytest.mark.parametrize(
    ("limit", "body", "connections"),
    [({}, b"hello", 1), ({"max_bytes": 5}, b"hello", 1), ({"max_bytes": 4}, b"hell", 2)],
    ids=["no limit", "just the limit", "beyond the limit"],
)
def test_a_body_is_read_up_to_its_limit_and_the_next_request_is_answered(
    peer_of, pool_of, answer, limit, body, connections
):
    peer = peer_of(answer, OK)
    pool = pool_of(peer.endpoint)
    response = pool.exchange(GET, TIMEOUTS, **limit)
    assert (response.body, response.is_cut) == (body, body != b"hello")
    assert pool.exchange(GET, TIMEOUTS).body == b"ok"
    assert len(peer.accepted) == connections


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel", CHUNKED + b"5\r\nhel"],
    ids=["of a length", "in chunks"],
)
def test_a_body_below_the_limit_that_ends_too_soon_is_refused(peer_of, pool_of, answer):
    with pytest.raises(HTTPException):
        pool_of(peer_of(Cut(answer)).endpoint).exchange(GET, TIMEOUTS, max_bytes=9)


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nConnection: close", b"HTTP/1.0 200 OK"])
@pytest.mark.parametrize(
    "rest", [Cut(b"\r\n\r\nhello"), b"\r\nContent-Length: 5\r\n\r\nhello"], ids=["cut", "length"]
)
def test_a_body_may_end_with_the_connection_which_is_not_used_again(peer_of, exchange, head, rest):
    peer = peer_of(type(rest)(head + rest), OK)
    assert [exchange(peer.endpoint).body for _ in range(2)] == [b"hello", b"ok"]
    assert len(peer.accepted) == 2


@pytest.mark.parametrize("code", [204, 304])
def test_some_answers_have_no_body(peer_of, exchange, code):
    peer = peer_of(f"HTTP/1.1 {code} x\r\n\r\n".encode(), OK)
    assert [exchange(peer.endpoint).body for _ in range(2)] == [b"", b"ok"]


@pytest.mark.parametrize("is_tls", [False, True], ids=["plain", "TLS"])
def test_a_connection_serves_again_until_it_is_closed_while_idle(
    peer_of, exchange, server_tls, client_tls, is_tls
):
    peer = peer_of(OK, OK, OK, tls=server_tls if is_tls else None)
    endpoint = dataclasses.replace(peer.endpoint, tls=client_tls if is_tls else None)
    assert [exchange(endpoint).body for _ in range(2)] == [b"ok", b"ok"]
    assert len(peer.accepted) == 1
    peer.hang_up()
    assert exchange(endpoint).body == b"ok"
    assert len(peer.accepted) == 2


def test_a_connection_on_which_something_came_unasked_is_replaced(peer_of, exchange):
    peer = peer_of(OK, OK)
    exchange(peer.endpoint)
    peer.accepted[0].sendall(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
    assert exchange(peer.endpoint).status == 200
    assert len(peer.accepted) == 2


BROKEN = {
    "no HTTP": Cut(b"SSH-2.0-OpenSSH\r\n\r\n"),
    "another HTTP": Cut(b"HTTP/2 200 OK\r\n\r\n"),
    "no status": Cut(b"HTTP/1.1 abc OK\r\n\r\n"),
    "nothing": Cut(b""),
    "garbage for a chunk's size": CHUNKED + b"zz\r\n",
    "a line too long": b"HTTP/1.1 200 OK\r\nA: " + b"a" * 70_000 + b"\r\n\r\n",
    "a line without an end": b"HTTP/1.1 200 OK\r\nA: " + b"a" * 140_000,
    "too many lines": b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200 + b"\r\n",
    "cut in the status": Cut(b"HTTP/1.1 20"),
    "cut in a length": Cut(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhel"),
    "cut in a chunk": Cut(CHUNKED + b"5\r\nhel"),
    "cut between chunks": Cut(CHUNKED + b"3\r\nhel\r\n"),
    "of any length": Cut(b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 30 + b"\r\n\r\nhel"),
    "of terabytes": Cut(b"HTTP/1.1 200 OK\r\nContent-Length: 9000000000000000\r\n\r\nhel"),
    "a chunk of any size": Cut(CHUNKED + b"f" * 30 + b"\r\nhel"),
    "of a length that is none": b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok",
    # What follows might be taken for the answer to the next request.
    "of two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 2\r\n\r\nokok",
    "of two lengths in one": b"HTTP/1.1 200 OK\r\nContent-Length: 4, 2\r\n\r\nokok",
    "an interim answer": b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n",
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_answer_raises_and_its_connection_is_not_used_again(peer_of, exchange, answer):
    peer = peer_of(answer, OK)
    with pytest.raises(NETWORK_ERRORS):
        exchange(peer.endpoint)
    assert exchange(peer.endpoint).body == b"ok"
    assert len(peer.accepted) == 2


@pytest.mark.parametrize("begun", [b"", CHUNKED + b"5\r\nhel"], ids=["at once", "in the middle"])
@pytest.mark.parametrize("is_kept", [False, True], ids=["new", "kept"])
def test_a_silent_peer_raises_after_the_requests_read_timeout(peer_of, exchange, begun, is_kept):
    peer = peer_of(*[OK] * is_kept, begun)
    if is_kept:
        exchange(peer.endpoint)
    with pytest.raises(TimeoutError):
        exchange(peer.endpoint, timeouts=Timeouts(30.0, 0.05))


@pytest.mark.parametrize("is_proxy", [False, True], ids=["says no hello", "is a proxy"])
def test_a_peer_that_never_answers_raises_after_the_connect_timeout(
    peer_of, exchange, client_tls, is_proxy
):
    silent = peer_of(b"")
    hello = dataclasses.replace(silent.endpoint, tls=client_tls)
    with pytest.raises(ConnectionError):
        exchange(through(silent, None) if is_proxy else hello, timeouts=Timeouts(0.05, 30.0))


@pytest.fixture
def pool(server, pool_of) -> Pool:
    """Connections to the scripted server."""
    return pool_of(Endpoint("127.0.0.1", int(server.url.rpartition(":")[2]), None))


def test_one_connection_that_is_silent_ends_all_that_are_as_old(server, pool, clock):
    together = threading.Barrier(3)

    def answer_together(handler) -> None:
        together.wait(patience.SECONDS)
        reply(200)(handler)

    server.steps = [answer_together]
    threads = [threading.Thread(target=pool.exchange, args=(GET, TIMEOUTS)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(server.connections) == 3
    clock.step(1)
    server.steps = [server.hang, reply(200)]
    with pytest.raises(TimeoutError):
        pool.exchange(GET, Timeouts(30.0, 0.05))
    pool.exchange(GET, TIMEOUTS)
    assert len(server.connections) == 4  # none of the two that were left was used


def test_one_request_that_takes_too_long_spares_connections_that_answer(server, pool, clock):
    def hang_while_another_is_served(handler) -> None:
        clock.step(1)
        pool.exchange(GET, TIMEOUTS)
        server.hang(handler)

    server.steps = [hang_while_another_is_served, reply(200)]
    with pytest.raises(TimeoutError):
        pool.exchange(GET, Timeouts(30.0, 1.0))
    pool.exchange(GET, TIMEOUTS)
    assert len(server.connections) == 2


def test_a_connection_that_has_long_been_idle_is_not_used_again(peer_of, exchange, clock):
    peer = peer_of(OK, OK, OK)
    for idle_seconds, connections in ((0, 1), (IDLE_SECONDS, 1), (IDLE_SECONDS + 1, 2)):
        clock.step(idle_seconds)
        exchange(peer.endpoint)
        assert len(peer.accepted) == connections


# Requests


@pytest.mark.parametrize(
    "bad", ["a\r\nX: y", "a\nb", "a\n b", "a\0b"], ids=["CRLF", "LF", "folded", "NUL"]
)
def test_a_header_never_becomes_two_nor_stands_in_the_error(peer_of, exchange, bad):
    peer = peer_of(OK)
    secret = f"Bearer secret{bad}"
    with pytest.raises(NETWORK_ERRORS) as caught:
        exchange(peer.endpoint, Request("GET", "/x", {"Authorization": secret}))
    assert "secret" not in str(caught.value)
    exchange(peer.endpoint)
    assert "secret" not in "".join(peer.received)


@pytest.mark.parametrize("target", ["/x y", "/x\r\nA: b"], ids=["space", "CRLF"])
def test_a_path_never_becomes_a_header(peer_of, exchange, target):
    peer = peer_of(OK)
    with pytest.raises(NETWORK_ERRORS):
        exchange(peer.endpoint, Request("GET", target, {}))
    assert peer.received == []


@pytest.mark.parametrize(
    ("host", "authority"), [("10.0.0.1", "10.0.0.1:443"), ("fd00::1", "[fd00::1]:443")]
)
def test_an_ipv6_host_stands_in_brackets(peer_of, exchange, host, authority):
    proxy = peer_of(ESTABLISHED, OK)
    exchange(Endpoint(host, 443, None, proxy=f"http://127.0.0.1:{proxy.port}"))
    connect, get = proxy.received
    assert connect.startswith(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n")
    assert f"\r\nHost: {authority}\r\n" in get


# Streams


@pytest.fixture
def open_stream(pool_of) -> Iterator[Callable[..., Stream]]:
    def open_(endpoint: Endpoint, read_seconds: float = 30.0) -> Stream:
        timeouts = Timeouts(30.0, read_seconds)
        stream = pool_of(endpoint).exchange(GET, timeouts, is_stream=True).stream
        assert stream is not None
        return stream

    with ended(open_, Stream.release) as open_stream:
        yield open_stream


def read(stream: Stream) -> bytes:
    return b"".join(stream.chunks())


STREAMS = {
    "in chunks": CHUNKED + b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
    "of a length": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.0": Cut(b"HTTP/1.0 200 OK\r\n\r\nhello"),
    "to the end": Cut(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"),
    "neither": Cut(b"HTTP/1.1 200 OK\r\n\r\nhello"),
}


@pytest.mark.parametrize("answer", STREAMS.values(), ids=STREAMS.keys())
def test_a_stream_is_read_to_its_end_on_a_connection_of_its_own(
    peer_of, open_stream, exchange, answer
):
    peer = peer_of(answer, OK)
    stream = open_stream(peer.endpoint)
    assert read(stream) == b"hello"
    stream.release()
    exchange(peer.endpoint)
    assert len(peer.accepted) == 2


CUT_STREAMS = {
    "in a chunk": Cut(CHUNKED + b"5\r\nhel"),
    "between chunks": Cut(CHUNKED + b"3\r\nhel\r\n"),
    "in a length": Cut(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhel"),
    "garbage": CHUNKED + b"3\r\nhel\r\nzz\r\n",
}


@pytest.mark.parametrize("answer", CUT_STREAMS.values(), ids=CUT_STREAMS.keys())
def test_a_stream_that_is_cut_raises(peer_of, open_stream, answer):
    with pytest.raises(NETWORK_ERRORS):
        read(open_stream(peer_of(answer).endpoint))


HANGING = {
    "in chunks": CHUNKED + b"1\r\na\r\n",
    "in a chunk": CHUNKED + b"5\r\na",
    "of a length": b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\na",
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\n\r\na",
}


@pytest.mark.parametrize("is_tls", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize("answer", HANGING.values(), ids=HANGING.keys())
def test_another_thread_ends_the_reading_at_once(
    peer_of, open_stream, server_tls, client_tls, answer, is_tls
):
    peer = peer_of(answer, tls=server_tls if is_tls else None)
    endpoint = dataclasses.replace(peer.endpoint, tls=client_tls if is_tls else None)
    stream = open_stream(endpoint, read_seconds=3600.0)
    got: list[bytes] = []
    has_ended = threading.Event()

    def read_all() -> None:
        got.extend(stream.chunks())
        has_ended.set()  # and nothing was raised

    reader = threading.Thread(target=read_all)
    reader.start()
    eventually(lambda: got == [b"a"])
    stream.close()
    assert has_ended.wait(patience.SECONDS)
    reader.join(30)
    assert got == [b"a"]
    assert read(stream) == b""
    stream.release()
    stream.close()


# TLS and proxies


def test_what_may_not_be_sent_any_more_once_connected_is_not(
    peer_of, exchange, server_tls, client_tls
):
    """TLS may take longer than a lease lasts."""

    class Refused(Exception):
        pass

    def refuse() -> float:
        assert peer.accepted
        raise Refused

    peer = peer_of(OK, tls=server_tls)
    endpoint = dataclasses.replace(peer.endpoint, tls=client_tls)
    with pytest.raises(Refused):
        exchange(endpoint, dataclasses.replace(GET, allowed_seconds=refuse))
    assert peer.received == []


def test_an_answer_is_waited_for_as_long_as_is_allowed_when_it_is_sent(peer_of, exchange):
    with pytest.raises(TimeoutError):
        exchange(peer_of(b"").endpoint, dataclasses.replace(GET, allowed_seconds=lambda: 0.05))


def through(proxy: Peer, tls: ssl.SSLContext | None, user: str = "") -> Endpoint:
    url = f"http://{user}127.0.0.1:{proxy.port}"
    return Endpoint("127.0.0.1", 6443, tls, proxy=url)


def test_goes_through_a_proxy_to_a_server_that_it_verifies(
    peer_of, exchange, server_tls, client_tls
):
    proxy = peer_of(ESTABLISHED, OK, OK, tls=server_tls)
    for _ in range(2):
        assert exchange(through(proxy, client_tls, "me:p%40ss@")).body == b"ok"
    assert len(proxy.accepted) == 1
    connect, get, _ = proxy.received
    assert connect.startswith("CONNECT 127.0.0.1:6443 HTTP/1.1")
    assert "Proxy-Authorization: Basic bWU6cEBzcw==" in connect
    assert get.startswith("GET /x HTTP/1.1")
    assert "Proxy-Authorization" not in get


def test_the_certificate_may_be_of_another_name_but_of_no_third(
    peer_of, exchange, server_tls, client_tls
):
    peer = peer_of(OK, tls=server_tls)
    endpoint = dataclasses.replace(peer.endpoint, tls=client_tls)
    with pytest.raises(ssl.SSLCertVerificationError):
        exchange(dataclasses.replace(endpoint, tls_server_name="evil.example"))
    assert peer.received == []
    exchange(dataclasses.replace(endpoint, tls_server_name="api.example"))
    assert peer.names == ["evil.example", "api.example"]
    assert f"Host: 127.0.0.1:{peer.port}" in peer.received[0]


BAD_PROXIES = {
    "forbids": (b"HTTP/1.1 403 Forbidden\r\n\r\n", "403"),
    "wants a password": (b"HTTP/1.1 407 Password Required\r\nContent-Length: 2\r\n\r\nno", "407"),
    "redirects": (b"HTTP/1.1 302 Found\r\nLocation: /login\r\n\r\n", "302"),
    "speaks no HTTP": (Cut(b"SSH-2.0-OpenSSH\r\n\r\n"), None),
    "is cut": (Cut(b""), None),
    "says no end": (Cut(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200), None),
}


@pytest.mark.parametrize(("answer", "said"), BAD_PROXIES.values(), ids=BAD_PROXIES.keys())
def test_a_proxy_that_refuses_or_is_broken_is_told(peer_of, exchange, client_tls, answer, said):
    proxy = peer_of(answer)
    with pytest.raises(NETWORK_ERRORS, match=said):
        exchange(through(proxy, client_tls))
    assert len(proxy.received) == 1


@pytest.mark.parametrize("is_there", [True, False], ids=["replaced", "missing for a moment"])
def test_an_authority_that_was_replaced_is_trusted_at_the_next_try(
    peer_of, exchange, server_tls, certificate, is_there
):
    stranger = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    peer = peer_of(OK, tls=server_tls)
    file = certificate if is_there else f"{certificate}.none"
    endpoint = dataclasses.replace(peer.endpoint, tls=stranger, ca_file=file)
    with pytest.raises(ssl.SSLCertVerificationError):
        exchange(endpoint)
    with nullcontext() if is_there else pytest.raises(ssl.SSLCertVerificationError):
        assert exchange(endpoint).body == b"ok"


def test_head_and_body_of_a_request_are_sent_as_one(peer_of, exchange, monkeypatch):
    sent: list[bytes] = []
    really_send = socket.socket.sendall

    def send(to: socket.socket, data: bytes) -> None:
        sent.append(bytes(data))
        really_send(to, data)

    monkeypatch.setattr(socket.socket, "sendall", send)
    peer = peer_of(OK, OK)
    for number in range(2):  # nothing of the first is sent again
        exchange(peer.endpoint, Request("POST", f"/{number}", {}, b"body\r\n\r\n"))
    requests = [data for data in sent if data.startswith(b"POST")]
    assert [data.count(b"body") for data in requests] == [1, 1]
    assert len(sent) == 2 + len(requests)
