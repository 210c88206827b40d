"""The endpoints that a kubelet and Prometheus ask."""

import socket
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPResponse
from unittest.mock import Mock

import pytest

from controller.health import (
    MAX_CONNECTIONS,
    MAX_HEAD_BYTES,
    REQUEST_SECONDS,
    HealthServer,
    HttpAnswer,
    HttpRequest,
    Route,
    check,
    exposition,
    parse_address,
)
from tests.live.processes import open_directly
from tests.unit.controller.fakes import SteppedClock, ended, eventually

LARGE = 8 << 20
"""More than a socket's buffers take."""


@pytest.fixture
def problems() -> list[str]:
    return []


def fail(_request: HttpRequest) -> HttpAnswer:
    raise KeyError("a fault of ours")


@pytest.fixture
def routes(problems, metrics) -> dict[str, Route]:
    """/later has its answer at the third look."""
    looks = iter([None, None])
    return {
        "/readyz": check(lambda: problems),
        "/metrics": exposition(metrics),
        "/fault": fail,
        "/large": lambda _: HttpAnswer(HTTPStatus.OK, bytes(LARGE)),
        "/later": lambda _: next(looks, HttpAnswer(HTTPStatus.OK, b"at last")),
        "/never": lambda _: None,
    }


@contextmanager
def running(server: HealthServer) -> Iterator[HealthServer]:
    thread = threading.Thread(target=server.run)
    thread.start()
    yield server
    server.stop()
    thread.join(30)


@pytest.fixture
def served(routes, clock) -> Iterator[HealthServer]:
    with running(HealthServer("127.0.0.1:0", routes, clock)) as server:
        yield server


def get(
    server: HealthServer, path: str, accept: str = "", tls: ssl.SSLContext | None = None
) -> tuple[int, str, str]:
    url = f"http{'s' * bool(tls)}://127.0.0.1:{server.port}{path}"
    request = urllib.request.Request(url, headers={"Accept": accept})
    try:
        answer: HTTPResponse | urllib.error.HTTPError = open_directly(request, tls)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return answer.status or 0, answer.read().decode(), answer.headers["Content-Type"]


@pytest.mark.parametrize(
    ("path", "found", "code", "text"),
    [
        ("/readyz", [], 200, "ok\n"),
        ("/readyz?verbose", [], 200, "ok\n"),
        ("/readyz", ["not synced: pods", "a thread"], 503, "not synced: pods\na thread\n"),
    ],
    ids=["ok", "query", "a line a problem"],
)
def test_problems_are_told(served, problems, path, found, code, text):
    problems += found
    assert get(served, path)[:2] == (code, text)
    assert get(served, "/nothing")[0] == 404


@pytest.mark.parametrize(
    ("accept", "type_"),
    [("", "text/plain"), ("application/openmetrics-text", "application/openmetrics-text")],
    ids=["text", "OpenMetrics"],
)
def test_metrics_come_in_the_format_asked_for(served, accept, type_):
    code, body, content_type = get(served, "/metrics", accept)
    assert code == 200
    assert content_type.startswith(type_)
    assert "workqueue_depth" in body


def test_only_get_is_answered(served):
    request = urllib.request.Request(f"http://127.0.0.1:{served.port}/readyz", b"x", method="POST")
    with pytest.raises(urllib.error.HTTPError, match="405"):
        open_directly(request)


def test_a_fault_of_a_route_is_told_and_ends_nothing(served):
    assert get(served, "/fault")[:2] == (500, "KeyError('a fault of ours')\n")
    assert get(served, "/readyz")[0] == 200


@pytest.fixture
def connect() -> Iterator[Callable[[HealthServer], socket.socket]]:
    """Connections to a server that say nothing by themselves."""

    def connect(server: HealthServer) -> socket.socket:
        return socket.create_connection(("127.0.0.1", server.port), 30)

    with ended(connect, socket.socket.close) as connect_and_close:
        yield connect_and_close


def is_cut(connection: socket.socket) -> bool:
    """Whether the server ends a connection, which takes it a moment."""
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except ConnectionResetError:
        pass
    return True


def test_a_connection_without_memory_for_it_ends_alone(served, connect, monkeypatch):
    for name in ("_respond", "_Connection"):
        with monkeypatch.context() as patch:
            patch.setattr(f"controller.health.{name}", Mock(side_effect=MemoryError))
            client = connect(served)
            client.send(b"GET /readyz HTTP/1.1\r\n\r\n")
            assert is_cut(client), name
    assert get(served, "/readyz")[0] == 200


@pytest.mark.parametrize(
    ("filling", "status"), [(0, b"200"), (1, b"431")], ids=["at the limit", "one byte more"]
)
def test_headers_have_a_limit(served, connect, filling, status):
    begin, end = b"GET /readyz HTTP/1.1\r\nX: ", b"\r\n\r\n"
    connection = connect(served)
    connection.sendall(begin + b"x" * (MAX_HEAD_BYTES - len(begin + end) + filling) + end)
    assert connection.recv(65536).split()[1] == status


def test_a_request_that_trickles_in_is_cut_at_its_deadline(served, clock, connect):
    connection = connect(served)
    connection.sendall(b"GET /readyz HTTP/1.1\r\n")
    assert get(served, "/readyz")[0] == 200, "it is accepted"
    clock.step(REQUEST_SECONDS + 0.1)
    connection.sendall(b"a")
    assert is_cut(connection)


def test_an_answer_that_nobody_reads_is_cut_at_its_deadline(served, clock, connect):
    connection = connect(served)
    connection.sendall(b"GET /large HTTP/1.1\r\n\r\n")
    assert get(served, "/readyz")[0] == 200, "it is accepted"
    clock.step(REQUEST_SECONDS + 0.1)
    assert get(served, "/readyz")[0] == 200, "the deadline was looked at"
    assert sum(map(len, iter(lambda: connection.recv(1 << 20), b""))) < LARGE


def test_the_oldest_silent_connection_makes_room(served, clock, connect):
    asking = connect(served)
    asking.sendall(b"GET /large HTTP/1.1\r\n\r\n")
    silent = [connect(served) for _ in range(MAX_CONNECTIONS - 1)]
    eventually(lambda: len(served._connections) == MAX_CONNECTIONS, "it is full")
    clock.step(1.0)
    assert get(served, "/readyz")[0] == 200
    assert is_cut(silent[0])
    silent[1].settimeout(0.1)
    assert not is_cut(silent[1])
    assert asking.recv(65536).startswith(b"HTTP/1.1 200 OK")


def test_a_connection_that_has_just_come_makes_no_room(served, clock, connect):
    held = [connect(served) for _ in range(MAX_CONNECTIONS)]
    eventually(lambda: len(served._connections) == MAX_CONNECTIONS, "it is full")
    late = connect(served)
    late.sendall(b"GET /readyz HTTP/1.1\r\n\r\n")
    late.settimeout(0.3)
    with pytest.raises(TimeoutError):
        late.recv(65536)
    held[-1].sendall(b"GET /readyz HTTP/1.1\r\n\r\n")
    assert held[-1].recv(65536).startswith(b"HTTP/1.1 200 OK")
    late.settimeout(30)
    assert late.recv(65536).startswith(b"HTTP/1.1 200 OK")


def test_a_taken_port_fails_the_start(served):
    with pytest.raises(OSError, match=rf"127\.0\.0\.1:{served.port}: .* in use"):
        HealthServer(f"127.0.0.1:{served.port}", {}, SteppedClock())


ADDRESSES = {":8080": ("", 8080), "127.0.0.1:1": ("127.0.0.1", 1), "[::]:8081": ("::", 8081)}


def test_addresses_are_read():
    assert {text: parse_address(text) for text in ADDRESSES} == ADDRESSES


@pytest.mark.parametrize("text", ["", "8080", "host:", "host:x", ":99999"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(ValueError, match="not an address"):
        parse_address(text)


# TLS


@pytest.fixture
def encrypted(routes, clock, server_tls) -> Iterator[HealthServer]:
    with running(HealthServer("127.0.0.1:0", routes, clock, lambda: server_tls)) as server:
        yield server


@pytest.mark.parametrize(
    ("path", "body"),
    [("/readyz", "ok\n"), ("/large", "\0" * LARGE), ("/later", "at last")],
    ids=["small", "larger than any buffer", "takes its time"],
)
def test_answers_go_through_tls(encrypted, client_tls, path, body):
    assert get(encrypted, path, tls=client_tls)[:2] == (200, body)


def test_headers_have_a_limit_under_tls(encrypted, connect, client_tls):
    with client_tls.wrap_socket(connect(encrypted), server_hostname="127.0.0.1") as asking:
        asking.sendall(b"GET /readyz HTTP/1.1\r\nX: " + b"x" * MAX_HEAD_BYTES)
        assert asking.recv(65536).split()[1] == b"431"


def test_plain_http_gets_nothing_from_a_server_of_tls(encrypted, connect):
    connection = connect(encrypted)
    connection.sendall(b"GET /readyz HTTP/1.1\r\n\r\n")
    try:
        received = connection.recv(65536)
    except ConnectionResetError:
        received = b""
    assert b"200" not in received


@pytest.mark.parametrize("beginning", [b"", b"\x16\x03\x01"], ids=["silent", "half a handshake"])
def test_a_handshake_that_goes_on_holds_up_nobody_and_is_cut(
    encrypted, connect, clock, client_tls, beginning
):
    slow = connect(encrypted)
    slow.sendall(beginning)
    assert get(encrypted, "/readyz", tls=client_tls)[0] == 200
    clock.step(REQUEST_SECONDS + 0.1)
    assert is_cut(slow)


def test_an_answer_that_never_comes_is_cut_and_holds_up_nobody(
    encrypted, connect, clock, client_tls
):
    with client_tls.wrap_socket(connect(encrypted), server_hostname="127.0.0.1") as asking:
        asking.sendall(b"GET /never HTTP/1.1\r\n\r\n")
        assert get(encrypted, "/readyz", tls=client_tls)[0] == 200
        clock.step(REQUEST_SECONDS + 0.1)
        assert is_cut(asking)


def test_slow_handshakes_make_room(encrypted, connect, clock, client_tls):
    slow = [connect(encrypted) for _ in range(MAX_CONNECTIONS)]
    eventually(lambda: len(encrypted._connections) == MAX_CONNECTIONS, "it is full")
    clock.step(1.0)
    assert get(encrypted, "/readyz", tls=client_tls)[0] == 200
    assert is_cut(slow[0])
