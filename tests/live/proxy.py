"""A proxy between an operator and the API server: the place where faults are made.

It speaks plain HTTP to the operator, or TLS where it is given a certificate, and passes everything
on with the cluster's admin token or another one. What it counts as a write is what changes a job or
its children: Events and Leases are not.

A rule says what happens to some requests instead: `with proxy.rule("GET", "/pods", answer(404)):`.
"""

import contextlib
import http.client
import json
import queue
import re
import socket
import ssl
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from localcluster import Cluster
from localcluster.machine import clock
from localcluster.machine.ports import HOST
from tests.live import patience
from tests.live.apiserver import DRY_RUN
from tests.live.certificates import Certificate
from tests.live.lab import Lab

WRITES = ("POST", "PATCH", "PUT", "DELETE")
NOT_COUNTED = ("/events", "/leases")
PASSED = ("Accept", "Content-Type")
PIECE_BYTES = 65536


Act = Callable[[BaseHTTPRequestHandler], bool]
"""What is done with a request; False when it is to be passed on after all."""


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """What happens to requests of a method (empty: any) whose path has the pattern in it."""

    method: str
    pattern: re.Pattern[str]
    act: Act

    def concerns(self, handler: BaseHTTPRequestHandler) -> bool:
        return self.method in ("", handler.command) and bool(self.pattern.search(handler.path))


def answer(
    status: int, body: bytes = b"", content_type: str = "text/plain", retry_after: int | None = None
) -> Act:
    """Answer, and pass nothing on."""

    def act(handler: BaseHTTPRequestHandler) -> bool:
        _drain(handler)
        _send_head(handler, status, content_type, retry_after)
        _send_pieces(handler, [body] if body else [])
        return True

    return act


def refuse(code: int, reason: str, message: str = "", retry_after: int | None = None) -> Act:
    """Answer as an API server does that says no."""
    status = {"kind": "Status", "code": code, "reason": reason, "message": message or reason}
    return answer(code, json.dumps(status).encode(), "application/json", retry_after)


def first(count: int, act: Act) -> Act:
    """Do this with so many requests, and pass on the others."""
    left = iter(range(count))

    def do(handler: BaseHTTPRequestHandler) -> bool:
        return next(left, None) is not None and act(handler)

    return do


def delay(seconds: float) -> Act:
    def act(_handler: BaseHTTPRequestHandler) -> bool:
        clock.sleep(seconds)
        return False

    return act


def hold(until: threading.Event) -> Act:
    """Pass it on once this is set."""

    def act(_handler: BaseHTTPRequestHandler) -> bool:
        until.wait(patience.SECONDS)
        return False

    return act


def lag(seconds: float) -> Act:
    """Pass it on, and each piece of its answer so much later than it came: a watch falls behind."""

    def act(handler: BaseHTTPRequestHandler) -> bool:
        handler.lag_seconds = seconds  # type: ignore[attr-defined]
        return False

    return act


def cut(handler: BaseHTTPRequestHandler) -> bool:
    """Close the connection without an answer."""
    handler.close_connection = True
    return True


def pass_on(_: BaseHTTPRequestHandler) -> bool:
    return False


class Counted:
    """Does this with requests, and keeps their paths."""

    def __init__(self, act: Act = pass_on) -> None:
        self._act = act
        self.paths: list[str] = []

    def __call__(self, handler: BaseHTTPRequestHandler) -> bool:
        self.paths.append(handler.path)
        return self._act(handler)


class FaultProxy:
    """Passes requests on; `after_write` is called with the number of each write once it is done.

    The call comes after the API server has answered and before the operator hears of it. Returns
    True to let the answer through, False to cut the connection instead.
    """

    def __init__(
        self,
        cluster: Cluster,
        after_write: Callable[[int], bool] = lambda _: True,
        token: str = "",
        certificate: Certificate | None = None,
    ) -> None:
        self._upstream = urlsplit(cluster.server).netloc
        self._token = token or cluster.plane.token
        self._certificate = certificate
        self.user: dict[str, Any] = {"token": "any"}
        """What a kubeconfig says of the operator; the proxy takes any token."""
        self.handshake_seconds = 0.0
        """So long a new TLS connection waits for its handshake."""
        self._tls = ssl.create_default_context(cafile=str(cluster.plane.ca_file))
        self.after_write = after_write
        self._lock = threading.Lock()
        """Guards all that follows."""
        self._writes = 0
        self._rules: list[Rule] = []
        self._under_way: set[BaseHTTPRequestHandler] = set()
        self._connections: set[socket.socket] = set()
        self._frozen: set[socket.socket] = set()
        self._is_closed = threading.Event()
        self._server = _Server((HOST, 0), _handler_of(self))
        if certificate is not None:
            self._server.serve_tls(certificate)
        self._thread = threading.Thread(target=self._server.serve_forever, name="proxy")
        self._thread.start()

    @property
    def url(self) -> str:
        """What the operator takes for the API server."""
        scheme = "http" if self._certificate is None else "https"
        return f"{scheme}://{HOST}:{self._server.server_address[1]}"

    @property
    def writes(self) -> int:
        with self._lock:
            return self._writes

    def watches(self) -> set[str]:
        """The kinds that are being watched, in the plural."""
        with self._lock:
            paths = [handler.path for handler in self._under_way]
        watched = (path.partition("?")[0] for path in paths if "watch=true" in path)
        return {path.rpartition("/")[2] for path in watched}

    def write_kubeconfig(self, path: Path) -> Path:
        cluster = {"server": self.url}
        if self._certificate is not None:
            cluster["certificate-authority"] = str(self._certificate.authority)
        path.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "proxy", "cluster": cluster}],
                    "users": [{"name": "any", "user": self.user}],
                    "contexts": [{"name": "c", "context": {"cluster": "proxy", "user": "any"}}],
                    "current-context": "c",
                }
            )
        )
        return path

    def prove_by(self, certificate: Certificate) -> None:
        """Show another certificate from now on, and cut what goes on with the old one."""
        self._server.load(certificate)
        self.cut_all()

    def close(self) -> None:
        """Stop; open connections end with their threads."""
        self._is_closed.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @contextlib.contextmanager
    def rule(self, method: str, pattern: str, act: Act) -> Iterator[None]:
        """While the block lasts, do this with the requests that match; the latest rule is first.

        What matches and is under way at its beginning, as a watch is, is cut.
        """
        rule = Rule(method, re.compile(pattern), act)
        with self._lock:
            self._rules.insert(0, rule)
        self.drop(rule.concerns)
        try:
            yield
        finally:
            with self._lock:
                self._rules.remove(rule)

    def drop(self, concerns: Callable[[BaseHTTPRequestHandler], bool] = lambda _: True) -> None:
        """Cut the connections of the requests under way that this concerns."""
        with self._lock:
            handlers = [handler for handler in self._under_way if concerns(handler)]
        for handler in handlers:
            with contextlib.suppress(OSError):
                handler.connection.shutdown(socket.SHUT_RDWR)

    def cut_all(self) -> None:
        """Cut every connection, also those on which nothing is under way."""
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def freeze(self, concerns: Callable[[str], bool]) -> None:
        """Pass nothing on any more in connections that stay open.

        `concerns` is asked for each that there is, with the path under way in it or nothing.
        """
        with self._lock:
            paths = {handler.connection: handler.path for handler in self._under_way}
            self._frozen |= {c for c in self._connections if concerns(paths.get(c, ""))}

    def enter(self, connection: socket.socket) -> None:
        """The operator has connected. Raises OSError where it does not wait for the handshake."""
        with self._lock:
            self._connections.add(connection)
        if isinstance(connection, ssl.SSLSocket):
            self._is_closed.wait(self.handshake_seconds)
            connection.do_handshake()

    def leave(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.discard(connection)
            self._frozen.discard(connection)

    def _stall(self, connection: socket.socket) -> None:
        """Return once the connection is not frozen: at once, or when all is over."""
        with self._lock:
            is_frozen = connection in self._frozen
        if is_frozen:
            self._is_closed.wait()

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        """One request: what the rules say, else to the API server and back."""
        self._stall(handler.connection)
        with self._lock:
            acts = [rule.act for rule in self._rules if rule.concerns(handler)]
            self._under_way.add(handler)
        try:
            if not any(act(handler) for act in acts):
                self._pass_on(handler)
        finally:
            with self._lock:
                self._under_way.discard(handler)

    def _pass_on(self, handler: BaseHTTPRequestHandler) -> None:
        connection = http.client.HTTPSConnection(
            self._upstream, context=self._tls, timeout=patience.SECONDS
        )
        try:
            self._exchange(connection, handler)
        except OSError:
            handler.close_connection = True
        finally:
            connection.close()

    def _exchange(
        self, connection: http.client.HTTPSConnection, handler: BaseHTTPRequestHandler
    ) -> None:
        passed = {name: handler.headers[name] for name in PASSED if name in handler.headers}
        headers = {**passed, "Authorization": f"Bearer {self._token}"}
        method, body = handler.command or "", _drain(handler)
        connection.request(method, handler.path, body, headers)
        response = connection.getresponse()
        if not self._lets_through(method, handler.path, response):
            handler.close_connection = True
            return
        with contextlib.closing(_pieces(connection, response, _take_lag(handler))) as pieces:
            self._relay(response, pieces, handler)

    def _relay(
        self,
        response: http.client.HTTPResponse,
        pieces: Iterator[bytes],
        handler: BaseHTTPRequestHandler,
    ) -> None:
        content_type = response.headers.get("Content-Type", "application/json")
        _send_head(handler, response.status, content_type, response.headers.get("Retry-After"))

        def read() -> bytes:
            piece = next(pieces, b"")
            self._stall(handler.connection)
            return piece

        _send_pieces(handler, iter(read, b""))

    def _lets_through(self, method: str, path: str, response: Any) -> bool:
        if method not in WRITES or any(part in path for part in NOT_COUNTED):
            return True
        if response.status >= http.client.BAD_REQUEST:
            return True
        with self._lock:
            self._writes += 1
            count = self._writes
        return self.after_write(count)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def serve_tls(self, certificate: Certificate) -> None:
        """From now on; the handshake is for the connection's own thread."""
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.load(certificate)
        self.socket = self.tls.wrap_socket(
            self.socket, server_side=True, do_handshake_on_connect=False
        )

    def load(self, certificate: Certificate) -> None:
        """Show this one to those who connect from now on."""
        self.tls.load_cert_chain(certificate.certificate, certificate.key)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """An operator that was killed leaves broken connections: that is the point."""


def _take_lag(handler: BaseHTTPRequestHandler) -> float:
    """By how much the answer to this request lags; the connection's next request does not."""
    return float(handler.__dict__.pop("lag_seconds", 0.0))


def _pieces(
    connection: http.client.HTTPConnection, response: http.client.HTTPResponse, lag_seconds: float
) -> Generator[bytes]:
    """The answer, each piece so long after it came."""
    if not lag_seconds:
        yield from iter(partial(response.read1, PIECE_BYTES), b"")
        return
    came: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def read() -> None:
        piece = b"first"
        while piece:
            try:
                piece = response.read1(PIECE_BYTES)
            except (OSError, ValueError, http.client.HTTPException):
                piece = b""
            came.put((clock.monotonic() + lag_seconds, piece))

    reader = threading.Thread(target=read, name="proxy-lag")
    upstream = connection.sock
    reader.start()
    try:
        while (arrived := came.get())[1]:
            clock.sleep(max(0.0, arrived[0] - clock.monotonic()))
            yield arrived[1]
    finally:
        with contextlib.suppress(OSError):
            upstream.shutdown(socket.SHUT_RDWR)
        reader.join()


def _drain(handler: BaseHTTPRequestHandler) -> bytes:
    """The body of the request."""
    return handler.rfile.read(int(handler.headers.get("Content-Length") or 0))


def _send_head(
    handler: BaseHTTPRequestHandler,
    status: int,
    content_type: str,
    retry_after: int | str | None = None,
) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", content_type)
    if retry_after is not None:
        handler.send_header("Retry-After", str(retry_after))
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()


def _send_pieces(handler: BaseHTTPRequestHandler, pieces: Iterable[bytes]) -> None:
    for piece in pieces:
        handler.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        handler.wfile.flush()
    handler.wfile.write(b"0\r\n\r\n")


def _handler_of(proxy: FaultProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        """Or the last piece of an answer waits for the operator to acknowledge those before it."""

        def log_message(self, format: str, *args: Any) -> None: ...

        def setup(self) -> None:
            super().setup()
            proxy.enter(self.connection)

        def finish(self) -> None:
            proxy.leave(self.connection)
            super().finish()

        def _handle(self) -> None:
            proxy.handle(self)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _handle

    return Handler


def refused_creates(lab: Lab) -> list[datetime]:
    """When pods were asked for in a namespace and refused."""
    return [
        datetime.fromisoformat(entry["requestReceivedTimestamp"])
        for entry in audit_entries(lab.cluster, about=lab.namespace)
        if entry["verb"] == "create"
        and entry["objectRef"]["resource"] == "pods"
        and entry["objectRef"].get("namespace") == lab.namespace
        and entry.get("responseStatus", {}).get("code") == http.client.FORBIDDEN
        and DRY_RUN not in entry["requestURI"]
    ]


def audit_entries(
    cluster: Cluster, stages: Sequence[str] = ("ResponseComplete",), about: str = ""
) -> list[dict[str, Any]]:
    """The API server's audit log so far: of each request these stages.

    A line without the text `about` is not read, which takes a hundred times the time of a search.
    """
    entries = []
    with cluster.plane.audit_log.open() as log:
        for line in log:
            if about in line and line.endswith("\n"):
                entry = json.loads(line)
                if entry.get("stage") in stages:
                    entries.append(entry)
    return entries
