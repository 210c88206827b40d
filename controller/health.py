"""Answers the kubelet and Prometheus: /healthz, /readyz and /metrics.

Each address to listen on has its own server and thread. Anybody in the cluster can connect, so a
server limits everything: connections, bytes of a request, and seconds for a request and its answer.
Nothing in it blocks, not even a TLS handshake. When it is full, it closes the oldest connection
that has not sent its request, so a probe gets through despite any number of slow clients.
"""

import re
import select
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from http import HTTPStatus

from kube.clock import Clock
from metrics import Metrics

MAX_CONNECTIONS = 32
MAX_HEAD_BYTES = 8192
"""The most bytes of a request's first line and headers."""
REQUEST_SECONDS = 5.0
"""A connection is closed after this time, even while a request or an answer is being sent."""
GRACE_SECONDS = 0.002
"""A younger connection is not closed for a new one: its request is perhaps on the way."""
DISABLED = "0"
_BACKLOG = 4096
"""The listen queue. If it is full, a client's kernel retries after 1 s, too late for a probe."""
_POLL_SECONDS = 0.1
_PENDING_POLL_SECONDS = 0.01
"""How often a route that has no answer yet is called again."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer to send; `headers` are extra ones, each a whole line."""

    status: HTTPStatus
    body: bytes
    content_type: str = "text/plain; charset=utf-8"
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A GET request; `head` is its first line and its headers, as they were sent."""

    head: str

    def header(self, name: str) -> str:
        """The value of the first header with this name, in any case; empty if there is none."""
        found = re.search(rf"^{name}:(.*)$", self.head, re.IGNORECASE | re.MULTILINE)
        return found[1].strip() if found else ""


Route = Callable[[HttpRequest], HttpAnswer | None]
"""Answers a GET. None: the answer is not ready, and the route is soon called again."""
Encryption = Callable[[], ssl.SSLContext]
"""The TLS of the next connection."""


def check(problems: Callable[[], list[str]]) -> Route:
    """A route that answers 200 with `ok`, or 503 with one problem per line."""

    def answer(_request: HttpRequest) -> HttpAnswer:
        found = problems()
        status = HTTPStatus.SERVICE_UNAVAILABLE if found else HTTPStatus.OK
        return HttpAnswer(status, "\n".join([*(found or ["ok"]), ""]).encode())

    return answer


def exposition(metrics: Metrics) -> Route:
    """A route that prints the metrics."""
    return lambda request: HttpAnswer(HTTPStatus.OK, *metrics.exposition(request.header("accept")))


class _Connection:
    """One request and its answer. `awaits` is the event to poll for; 0 while no answer is ready."""

    def __init__(self, opened: socket.socket, opened_at: float) -> None:
        opened.setblocking(False)
        self.socket = opened
        self.opened_at = opened_at
        self.awaits = select.POLLIN
        self.has_asked = False
        self._head = b""
        self._answer = b""

    def advance(self, routes: dict[str, Route]) -> bool:
        """Do what is possible without waiting; returns whether this connection is finished."""
        try:
            return self._advance(routes)
        except ssl.SSLWantReadError:
            self.awaits = select.POLLIN
        except (ssl.SSLWantWriteError, BlockingIOError):
            self.awaits = select.POLLOUT
        except Exception:  # the client is gone, or there is no memory left for its request
            return True
        return False

    def _advance(self, routes: dict[str, Route]) -> bool:
        if not self.has_asked:
            received = self.socket.recv(MAX_HEAD_BYTES + 1 - len(self._head))
            self._head += received
            self.has_asked = len(self._head) > MAX_HEAD_BYTES or b"\r\n\r\n" in self._head
            self.awaits = select.POLLIN
            if not self.has_asked:
                return not received
        self._answer = self._answer or _respond(self._head, routes)
        if not self._answer:
            self.awaits = 0
            return False
        self._answer = self._answer[self.socket.send(self._answer) :]
        self.awaits = select.POLLOUT
        return not self._answer


class HealthServer:
    """One address and its routes, with TLS if `encryption` is given.

    Binds on construction, so a taken port fails the start: raises OSError with the address.
    """

    def __init__(
        self,
        address: str,
        routes: dict[str, Route],
        clock: Clock,
        encryption: Encryption | None = None,
    ) -> None:
        host, port = parse_address(address)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
        except OSError as error:
            raise OSError(f"cannot listen on {address}: {error.strerror}") from error
        self._listener.setblocking(False)
        self._routes = routes
        self._clock = clock
        self._encryption = encryption
        self._connections: list[_Connection] = []
        """The oldest first."""
        self._stop = threading.Event()

    @property
    def port(self) -> int:
        """The port that it listens on; if the address has port 0, the one that the system chose."""
        return int(self._listener.getsockname()[1])

    def run(self) -> None:
        """Serve until stopped."""
        while not self._stop.is_set():
            self._serve()
        for connection in [*self._connections]:
            self._close(connection)
        self._listener.close()

    def stop(self) -> None:
        """Make `run` close everything and return."""
        self._stop.set()

    def _serve(self) -> None:
        """Wait briefly for connections that can continue, advance them, and accept a new one."""
        ready = self._wait_for_any()
        # Before any connection is closed: the system reuses the numbers of closed descriptors.
        can_accept = self._listener.fileno() in ready
        for connection in [*self._connections]:
            is_over = self._age(connection) > REQUEST_SECONDS
            if not connection.awaits or connection.socket.fileno() in ready:
                is_over |= connection.advance(self._routes)
            if is_over:
                self._close(connection)
        if can_accept:
            self._accept()

    def _wait_for_any(self) -> set[int]:
        """The descriptors that are ready; the listener is included only while there is room."""
        poll = select.poll()
        seconds = _POLL_SECONDS
        for connection in self._connections:
            if connection.awaits:
                poll.register(connection.socket, connection.awaits)
            else:
                seconds = _PENDING_POLL_SECONDS
        if self._has_room():
            poll.register(self._listener, select.POLLIN)
        else:
            seconds = GRACE_SECONDS
        return {descriptor for descriptor, _ in poll.poll(seconds * 1000)}

    def _accept(self) -> None:
        if len(self._connections) >= MAX_CONNECTIONS:
            self._close(self._next_to_go())
        try:
            accepted, _ = self._listener.accept()
            with ExitStack() as unless_kept:
                unless_kept.enter_context(accepted)
                opened = self._encrypt(accepted)
                self._connections.append(_Connection(opened, self._clock.monotonic()))
                unless_kept.pop_all()
        except Exception:
            # The client is gone, or descriptors or memory ran out. Then poll returns at once.
            self._clock.wait(self._stop, GRACE_SECONDS)

    def _encrypt(self, accepted: socket.socket) -> socket.socket:
        """The connection as it is, or under TLS, whose handshake begins with the first read."""
        if self._encryption is None:
            return accepted
        return self._encryption().wrap_socket(
            accepted, server_side=True, do_handshake_on_connect=False
        )

    def _has_room(self) -> bool:
        is_full = len(self._connections) >= MAX_CONNECTIONS
        return not is_full or self._age(self._next_to_go()) >= GRACE_SECONDS

    def _next_to_go(self) -> _Connection:
        """The connection to drop: the oldest that has not sent its request, else the oldest."""
        silent = (each for each in self._connections if not each.has_asked)
        return next(silent, self._connections[0])

    def _age(self, connection: _Connection) -> float:
        return self._clock.monotonic() - connection.opened_at

    def _close(self, connection: _Connection) -> None:
        self._connections.remove(connection)
        connection.socket.close()


def parse_address(address: str) -> tuple[str, int]:
    """`:8080`, `127.0.0.1:8080` or `[::]:8080` as host and port. Raises ValueError."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"not an address: {address!r}; expected HOST:PORT or :PORT")
    return host.strip("[]"), int(port)


def _respond(head: bytes, routes: dict[str, Route]) -> bytes:
    """The bytes of the answer; empty if there is none yet."""
    if len(head) > MAX_HEAD_BYTES:
        return _refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
    method, _, rest = head.partition(b" ")
    route = routes.get(re.split(rb"[ ?\r]", rest, maxsplit=1)[0].decode("latin-1"))
    if route is None:
        return _refuse(HTTPStatus.NOT_FOUND)
    if method != b"GET":
        return _refuse(HTTPStatus.METHOD_NOT_ALLOWED)
    try:
        answer = route(HttpRequest(head.decode("latin-1")))
    except Exception as error:  # a bug in a route must not end the thread and, with it, the process
        answer = HttpAnswer(HTTPStatus.INTERNAL_SERVER_ERROR, f"{error!r}\n".encode())
    return _encode(answer) if answer else b""


def _refuse(status: HTTPStatus) -> bytes:
    return _encode(HttpAnswer(status, f"{status.phrase}\n".encode()))


def _encode(answer: HttpAnswer) -> bytes:
    head = (
        f"HTTP/1.1 {answer.status.value} {answer.status.phrase}\r\n"
        f"Content-Type: {answer.content_type}\r\n"
        f"Content-Length: {len(answer.body)}\r\n"
        + "".join(f"{line}\r\n" for line in answer.headers)
        + "Connection: close\r\n\r\n"
    )
    return head.encode() + answer.body
