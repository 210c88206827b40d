"""The HTTP client of the API server, against servers that behave badly."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from localcluster.client.rest import CONNECTION_ERRORS, ApiError, Client, Endpoint, has_condition

WAIT_SECONDS = 10.0


class Handler(BaseHTTPRequestHandler):
    """Answers as the path says, and counts requests and connections."""

    protocol_version = "HTTP/1.1"
    server: "Server"

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_POST(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.server.requests.append(path)
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if path == "/silent":
            self.server.ended.wait(WAIT_SECONDS)
            self.close_connection = True
        elif path == "/watch":
            self._answer_in_part(b'{"type": "ADDED", "object": {}}\n')
            self.server.ended.wait(WAIT_SECONDS)
        elif path == "/refused":
            status = {"kind": "Status", "reason": "Conflict", "message": "it has changed"}
            self._answer(409, json.dumps(status).encode())
        elif path == "/absent":
            self._answer(404, json.dumps({"kind": "Status", "reason": "NotFound"}).encode())
        elif path == "/proxy":
            self._answer(502, b"bad gateway\n")
        else:
            self._answer(200, b'{"kind": "Thing"}')
            self.close_connection = path == "/then-closed"

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def _answer_in_part(self, body: bytes) -> None:
        """As the API server answers a watch: who reads on sees whether the end is missing."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(body), body))
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged."""


class Server(ThreadingHTTPServer):
    """What it has seen; `ended` releases the answers that are held back."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.connections = 0
        self.requests: list[str] = []
        self.ended = threading.Event()


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.ended.set()
        running.shutdown()
        thread.join()


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    endpoint = Endpoint(f"http://127.0.0.1:{server.server_port}", None)
    with Client(endpoint, timeout_seconds=0.5) as made:
        yield made


def test_a_connection_is_kept(server: Server, client: Client) -> None:
    assert client.get("/a") == client.create("/b", {}) == {"kind": "Thing"}
    assert server.connections == 1


def test_a_connection_that_was_closed_meanwhile_is_replaced(server: Server, client: Client) -> None:
    client.get("/then-closed")
    client.create("/b", {})
    assert (server.connections, server.requests) == (2, ["/then-closed", "/b"])


def test_a_write_without_an_answer_is_not_repeated(server: Server, client: Client) -> None:
    client.get("/a")
    with pytest.raises(TimeoutError):
        client.create("/silent", {})
    assert server.requests == ["/a", "/silent"]


def test_a_refusal_says_why(client: Client) -> None:
    with pytest.raises(ApiError, match="it has changed") as refused:
        client.get("/refused")
    assert (refused.value.status, refused.value.reason) == (409, "Conflict")


def test_a_refusal_may_be_a_proxys(client: Client) -> None:
    with pytest.raises(ApiError, match="bad gateway") as refused:
        client.get("/proxy")
    assert refused.value.status == 502


def test_nothing_is_found_where_nothing_is(client: Client) -> None:
    assert client.find("/a") == {"kind": "Thing"}
    assert client.find("/absent") is None
    with pytest.raises(ApiError):
        client.find("/refused")


@pytest.mark.parametrize(
    ("status", "holds"),
    [
        pytest.param({"conditions": [{"type": "Ready", "status": "True"}]}, True, id="true"),
        pytest.param({"conditions": [{"type": "Ready", "status": "False"}]}, False, id="false"),
        pytest.param({"conditions": [{"type": "Other", "status": "True"}]}, False, id="another"),
        pytest.param({"conditions": None}, False, id="no conditions"),
        pytest.param(None, False, id="no status"),
    ],
)
def test_conditions(status: dict[str, Any] | None, holds: bool) -> None:
    assert has_condition({"status": status}, "Ready") is holds


@pytest.mark.parametrize(("path", "is_ok"), [("/a", True), ("/refused", False), ("/silent", False)])
def test_is_ok(client: Client, path: str, is_ok: bool) -> None:
    assert client.is_ok(path) is is_ok


def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with Client(Endpoint(f"http://127.0.0.1:{taken.getsockname()[1]}", None)) as client:
            assert not client.is_ok("/")


def test_a_watch_can_be_closed_in_the_middle_of_a_read(client: Client) -> None:
    watch = client.watch("/watch", WAIT_SECONDS)
    events = iter(watch)
    assert next(events)["type"] == "ADDED"
    threading.Timer(0.1, watch.close).start()
    with pytest.raises(CONNECTION_ERRORS):
        next(events)


def test_a_watch_can_be_closed_between_two_reads(client: Client) -> None:
    watch = client.watch("/watch", WAIT_SECONDS)
    events = iter(watch)
    assert next(events)["type"] == "ADDED"
    watch.close()
    with pytest.raises(CONNECTION_ERRORS):
        next(events)
