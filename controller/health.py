"""What the kubelet and Prometheus ask: /healthz, /readyz and /metrics.

Each address has its own server and thread; a request that hangs hinders no other.
"""

import socket
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from metrics import Metrics

REQUEST_SECONDS = 5.0
DISABLED = "0"


@dataclass(frozen=True, slots=True)
class Answer:
    """What to send back."""

    status: HTTPStatus
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


Route = Callable[[str], Answer]
"""Answers a GET; takes the request's Accept header."""


def check(problems: Callable[[], list[str]]) -> Route:
    """A route that says ok, or 503 with one problem per line."""

    def answer(_accept: str) -> Answer:
        found = problems()
        if found:
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, "\n".join([*found, ""]).encode())
        return Answer(HTTPStatus.OK, b"ok\n")

    return answer


def exposition(metrics: Metrics) -> Route:
    """A route that prints the metrics."""

    def answer(accept: str) -> Answer:
        body, content_type = metrics.exposition(accept)
        return Answer(HTTPStatus.OK, body, content_type)

    return answer


class HealthServer:
    """One address and its routes. Binds when made: a taken port fails the start at once.

    Raises OSError with the address in its words.
    """

    def __init__(self, address: str, routes: dict[str, Route]) -> None:
        host, port = parse_address(address)
        try:
            self._server = _make_server(host, port, routes)
        except OSError as error:
            raise OSError(f"cannot listen on {address}: {error.strerror}") from error

    @property
    def port(self) -> int:
        """The port that is listened on; with port 0 the system has chosen it."""
        return int(self._server.server_address[1])

    def run(self) -> None:
        """Serve until stopped."""
        self._server.serve_forever(poll_interval=0.1)
        self._server.server_close()

    def stop(self) -> None:
        """End the serving. Only after `run` has begun."""
        self._server.shutdown()


def parse_address(address: str) -> tuple[str, int]:
    """`:8080`, `127.0.0.1:8080` or `[::]:8080` as host and port. Raises ValueError."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"not an address: {address!r}; expected HOST:PORT or :PORT")
    return host.strip("[]"), int(port)


def _make_server(host: str, port: int, routes: dict[str, Route]) -> ThreadingHTTPServer:
    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        daemon_threads = True
        block_on_close = False

    class Handler(BaseHTTPRequestHandler):
        timeout = REQUEST_SECONDS

        def do_GET(self) -> None:
            route = routes.get(self.path.partition("?")[0])
            if route is None:
                self.send_error(HTTPStatus.NOT_FOUND)
                return
            _send(self, route(self.headers.get("Accept", "")))

        def log_message(self, *_: Any) -> None:
            """Say nothing: probes come every few seconds."""

    return Server((host, port), Handler)


def _send(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    handler.send_response(answer.status)
    handler.send_header("Content-Type", answer.content_type)
    handler.send_header("Content-Length", str(len(answer.body)))
    handler.end_headers()
    handler.wfile.write(answer.body)
