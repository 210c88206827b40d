"""A pool of HTTP connections to one API server; http.client reads the answers.

Nothing is retried, redirected or decompressed here. A connection belongs to one thread while it is
in use. The pool is thread-safe.
"""

import base64
import math
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from kube.clock import Clock

NETWORK_ERRORS = (OSError, HTTPException, ValueError, OverflowError, MemoryError)
"""The exceptions of a request. OSError: sockets, TLS; its subclass TimeoutError: no answer on an
open socket. ValueError: a token with characters that a header cannot have. OverflowError and
MemoryError: an answer of an impossible length."""
IDLE_SECONDS = 30.0
"""A connection that is idle for longer is closed, because it can be dead without a sign."""
_READ_BYTES = 65536
_MAX_LINE_BYTES = 65536
_MAX_HEADERS = 100


@dataclass(frozen=True, slots=True)
class Timeouts:
    """In seconds: for connecting, and for each read of an answer."""

    connect: float
    read: float


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to connect and how. `tls` is None for plain HTTP; `proxy` is a URL or empty.

    `ca_file` is reloaded when a server's certificate is not trusted, because certificate
    authorities can be replaced. Old authorities stay trusted until the process ends.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None
    tls_server_name: str = ""
    proxy: str = ""
    socket_options: tuple[tuple[int, int, int], ...] = ()
    ca_file: str = ""

    def trust_again(self) -> None:
        """Also trust the authorities that are in `ca_file` now, if it can be read."""
        if self.tls is not None and self.ca_file and self.tls.verify_mode is ssl.CERT_REQUIRED:
            with suppress(OSError):  # the file can be missing for a moment
                self.tls.load_verify_locations(self.ca_file)

    @property
    def authority(self) -> str:
        """The Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Request:
    """A request to send.

    `allowed_seconds` returns how many seconds to wait for the answer at most. It is called right
    before the bytes are sent, on an open connection; if it raises, the request is not sent.
    """

    method: str
    target: str
    headers: dict[str, str]
    body: bytes | None = None
    allowed_seconds: Callable[[], float] = lambda: math.inf


@dataclass(frozen=True, slots=True)
class Response:
    """An answer, with header names in lower case. If `is_cut`, `body` is only its beginning."""

    status: int
    headers: dict[str, str]
    body: bytes = b""
    is_cut: bool = False
    stream: "Stream | None" = None


class _Answer(HTTPResponse):
    """http.client's answer, but the headers are a plain dictionary, with names in lower case.

    http.client's email parser would take more time than the rest of the request.
    """

    headers: Any

    def begin(self) -> None:
        """Read the head. Raises HTTPException if it is malformed."""
        version = self._read_head()
        while self.status == HTTPStatus.CONTINUE:
            version = self._read_head()
        self.chunked = self.headers.get("transfer-encoding", "").lower() == "chunked"
        self.chunk_left = None
        self.length = None if self.chunked else self._read_length()
        if self.status in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED):
            self.length = 0
        connection = self.headers.get("connection", "").lower()
        is_last = "keep-alive" not in connection if version == "HTTP/1.0" else "close" in connection
        self.will_close = is_last or not (self.chunked or self.length is not None)

    def _read_length(self) -> int | None:
        """The body's length, or None if the head does not give it. Two different lengths are an
        error (RFC 9112, 6.3), because the rest of a body could be taken for the next answer.
        """
        lengths = {each.strip() for each in self.headers.get("content-length", "").split(",")}
        length = lengths.pop()
        if lengths or not (length.isdecimal() or not length):
            raise HTTPException("the Content-Length of the answer is not one number")
        return int(length) if length else None

    def _read_head(self) -> str:
        """Read the head into the attributes; returns the HTTP version."""
        version, _, rest = self._read_line().partition(" ")
        if not version.startswith("HTTP/1.") or not rest[:3].isdecimal():
            raise HTTPException(f"the answer is not HTTP/1: {version[:100]!r}")
        self.status, self.reason, self.headers = int(rest[:3]), rest[3:].strip(), {}
        for _ in range(_MAX_HEADERS):
            if not (line := self._read_line()):
                return version
            name, _, value = line.partition(":")
            name, value = name.lower(), value.strip()
            before = self.headers.get(name)
            self.headers[name] = value if before is None else f"{before}, {value}"
        raise HTTPException("the answer has too many headers")

    def _read_line(self) -> str:
        line = self.fp.readline(_MAX_LINE_BYTES)
        if not line.endswith(b"\n"):
            raise HTTPException("the answer ends within its head, or has a line too long")
        return line.rstrip(b"\r\n").decode("latin-1")


class _Connection:
    """A connection to an endpoint, with a proxy and TLS if configured. Raises NETWORK_ERRORS."""

    def __init__(self, endpoint: Endpoint, connect_seconds: float) -> None:
        self._authority = endpoint.authority
        self._socket = _connect(endpoint, connect_seconds)
        self._answer: _Answer | None = None
        self.answered_at = 0.0

    def send_request(self, request: Request, read_seconds: float) -> _Answer:
        """Send a request and read the head of the answer."""
        headers = {"Host": self._authority, **request.headers}
        if request.body is not None:
            headers["Content-Length"] = str(len(request.body))
        head = _encode_head(request.method, request.target, headers)
        self._socket.settimeout(min(read_seconds, request.allowed_seconds()))
        self._socket.sendall(head + (request.body or b""))
        answer = self._answer = _Answer(self._socket, method=request.method)
        answer.begin()
        if answer.status < HTTPStatus.OK:  # another answer follows
            raise HTTPException(f"an unexpected interim answer: {answer.status}")
        return answer

    @property
    def is_reusable(self) -> bool:
        """Whether the answer that was read leaves the connection open."""
        return self._answer is not None and not self._answer.will_close

    @property
    def is_stale(self) -> bool:
        """Whether an idle connection was closed, or has received unexpected bytes."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def shut_down(self) -> None:
        """End any read at once. Other threads are allowed to call only this method."""
        with suppress(OSError):  # closed already
            # Not through the TLS layer, which another thread is using.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection and the answer being read from it."""
        if self._answer is not None:
            self._answer.close()
        self._socket.close()


class Stream:
    """An answer that is read as it comes, such as a watch.

    One thread reads and releases it. Any thread can close it, which ends the reading.
    """

    def __init__(
        self,
        connection: _Connection,
        response: _Answer,
        give_back: Callable[[_Connection], None],
    ) -> None:
        self.headers: dict[str, str] = response.headers
        self._connection = connection
        self._response = response
        self._give_back = give_back
        self._is_closed = False
        self._is_read = False

    def chunks(self) -> Iterator[bytes]:
        """The bytes as they come, until the answer ends or the stream is closed.

        Raises NETWORK_ERRORS if the connection breaks.
        """
        try:
            while chunk := self._response.read1(_READ_BYTES):
                yield chunk
            if self._response.length:
                raise IncompleteRead(b"", self._response.length)
            self._is_read = True
        except NETWORK_ERRORS:
            if not self._is_closed:
                raise

    def close(self) -> None:
        """End the reading."""
        self._is_closed = True
        self._connection.shut_down()

    def release(self, is_short: bool = False) -> None:
        """Give up the connection; the reader calls this when it has finished.

        If `is_short` and the answer was read to its end, the connection goes back to the pool.
        Otherwise it is closed.
        """
        if is_short and self._is_read and not self._is_closed:
            self._give_back(self._connection)
        else:
            self._connection.close()


class Pool:
    """Connections to one endpoint, kept for later requests; at most `size` of them idle.

    If a request gets no answer in time, idle connections that have received nothing since the
    request are closed too, because a network that drops one connection probably drops others.
    """

    def __init__(self, endpoint: Endpoint, size: int, clock: Clock | None = None) -> None:
        self._endpoint = endpoint
        self._size = size
        self._clock = clock or Clock()
        self._lock = threading.Lock()
        """Guards _idle."""
        self._idle: list[_Connection] = []

    def exchange(
        self,
        request: Request,
        timeouts: Timeouts,
        is_stream: bool = False,
        max_bytes: int | None = None,
    ) -> Response:
        """Send a request and read its answer. Raises NETWORK_ERRORS.

        With `is_stream`, a successful answer is returned as a stream, which the caller must
        release. Only the first `max_bytes` of any other answer are returned.
        """
        connection = self._take(timeouts)
        started = self._clock.monotonic()
        try:
            answer = connection.send_request(request, timeouts.read)
            if is_stream and answer.status == HTTPStatus.OK:
                stream = Stream(connection, answer, self._give_back)
                return Response(answer.status, answer.headers, stream=stream)
            body, is_cut = _read_body(answer, max_bytes)
        except BaseException as error:
            connection.close()
            if isinstance(error, TimeoutError):
                self._close_idle(unproven_since=started)
            raise
        if is_cut:
            connection.close()
        else:
            self._give_back(connection)
        return Response(answer.status, answer.headers, body, is_cut)

    def close(self) -> None:
        """Close the idle connections, and each of the others when it comes back to the pool."""
        with self._lock:
            self._size = 0
        self.close_idle()

    def close_idle(self) -> None:
        """Close the idle connections, so that the next request opens another one."""
        self._close_idle(unproven_since=float("inf"))

    def _close_idle(self, unproven_since: float) -> None:
        with self._lock:
            idle = self._idle
            self._idle = [each for each in idle if each.answered_at >= unproven_since]
            closed = [each for each in idle if each.answered_at < unproven_since]
        for connection in closed:
            connection.close()

    def _take(self, timeouts: Timeouts) -> _Connection:
        self._close_idle(unproven_since=self._clock.monotonic() - IDLE_SECONDS)
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return _Connection(self._endpoint, timeouts.connect)
            if not connection.is_stale:
                return connection
            connection.close()

    def _give_back(self, connection: _Connection) -> None:
        if connection.is_reusable:
            connection.answered_at = self._clock.monotonic()
            with self._lock:
                if len(self._idle) < self._size:
                    self._idle.append(connection)
                    return
        connection.close()


def _read_body(answer: HTTPResponse, max_bytes: int | None) -> tuple[bytes, bool]:
    """The body, at most `max_bytes` of it, and whether there is more."""
    body = answer.read(max_bytes)
    if max_bytes is None:
        return body, False
    is_cut = bool(answer.read(1))
    if answer.length and not is_cut:  # it ended too soon, which `read` with a limit does not report
        raise IncompleteRead(body, answer.length)
    return body, is_cut


def _connect(endpoint: Endpoint, seconds: float) -> socket.socket:
    try:
        return _open(endpoint, seconds)
    except ssl.SSLCertVerificationError:
        endpoint.trust_again()  # for the next try
        raise
    except TimeoutError as error:
        raise ConnectionError(f"no connection in time: {error}") from error


def _open(endpoint: Endpoint, seconds: float) -> socket.socket:
    proxy = urlsplit(endpoint.proxy) if endpoint.proxy else None
    host, port = (proxy.hostname, proxy.port or 80) if proxy else (endpoint.host, endpoint.port)
    opened = socket.create_connection((host or "", port), seconds)
    try:
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for option in endpoint.socket_options:
            opened.setsockopt(*option)
        if proxy is not None:
            _open_tunnel(opened, endpoint.authority, proxy)
        if endpoint.tls is None:
            return opened
        name = endpoint.tls_server_name or endpoint.host
        return endpoint.tls.wrap_socket(opened, server_hostname=name)
    except BaseException:
        opened.close()
        raise


def _open_tunnel(opened: socket.socket, authority: str, proxy: SplitResult) -> None:
    headers = {"Host": authority}
    if proxy.username:
        secret = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
        headers["Proxy-Authorization"] = f"Basic {base64.b64encode(secret).decode()}"
    opened.sendall(_encode_head("CONNECT", authority, headers))
    with _Answer(opened, method="CONNECT") as answer:
        answer.begin()
    if answer.status != HTTPStatus.OK:
        raise OSError(f"the proxy refuses: {answer.status} {answer.reason}")


def _encode_head(method: str, target: str, headers: dict[str, str]) -> bytes:
    """The head of a request. Raises ValueError on characters that would break it."""
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {each}" for name, each in headers.items())]
    if " " in target or not all(map(str.isprintable, lines)):
        raise ValueError("a space or a control character in a header")  # its value can be the token
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
