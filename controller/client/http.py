"""A pool of HTTP connections to one API server, on the standard library's http.client.

Nothing is retried, redirected or decompressed here. A connection belongs to one thread while it is
in use; any thread may use the pool.
"""

import base64
import math
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead
from typing import Any
from urllib.parse import unquote, urlsplit

from controller.clock import Clock, SystemClock

NETWORK_ERRORS = (OSError, HTTPException, ValueError)
"""What a request may raise. OSError: sockets, TLS; TimeoutError: no answer on a connection that was
there. ValueError: a token that no header may hold."""
IDLE_SECONDS = 30.0
"""A connection that nobody has used for so long may be dead, though it looks alive."""
_READ_BYTES = 65536


@dataclass(frozen=True, slots=True)
class Timeouts:
    """In seconds: for connecting, and for each read of an answer."""

    connect: float
    read: float


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to connect and how. `tls` is None for plain HTTP; `proxy` is a URL or empty.

    `ca_file` is read again when a server's certificate is not trusted, for authorities are
    replaced. Those trusted so far stay so until the process ends.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None
    tls_server_name: str = ""
    proxy: str = ""
    socket_options: tuple[tuple[int, int, int], ...] = ()
    ca_file: str = ""

    def trust_again(self) -> None:
        """Read the file of authorities again."""
        if self.tls is not None and self.ca_file and self.tls.verify_mode is ssl.CERT_REQUIRED:
            with suppress(OSError):  # it may be missing for a moment
                self.tls.load_verify_locations(self.ca_file)

    @property
    def authority(self) -> str:
        """The Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Request:
    """What to send.

    `allowed_seconds` is asked when the connection stands, directly before the bytes go out: how
    long the answer may take at most. What it raises keeps the request from being sent.
    """

    method: str
    target: str
    headers: dict[str, str]
    body: bytes | None = None
    allowed_seconds: Callable[[], float] = lambda: math.inf


@dataclass(frozen=True, slots=True)
class Response:
    """What came back. Header names are in lower case. `body` is empty for a stream.

    `is_cut` says that the body goes on beyond what was to be read.
    """

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    is_cut: bool = False


class _Connection(HTTPConnection):
    """One connection to an endpoint, through a proxy where there is one, in TLS where asked for."""

    def __init__(self, endpoint: Endpoint, connect_seconds: float) -> None:
        proxy = urlsplit(endpoint.proxy) if endpoint.proxy else None
        host, port = endpoint.host, endpoint.port
        if proxy is not None:
            host, port = proxy.hostname or "", proxy.port or 80
        super().__init__(host, port, timeout=connect_seconds)
        self._endpoint = endpoint
        self._proxy = proxy
        self.answered_at = 0.0
        self._unsent: list[bytes] = []

    def connect(self) -> None:
        """Open the socket; http.client calls it before the first request."""
        super().connect()
        for option in self._endpoint.socket_options:
            self.sock.setsockopt(*option)
        if self._proxy is not None:
            self._open_tunnel(_proxy_headers(self._proxy.username, self._proxy.password))
        if self._endpoint.tls is not None:
            name = self._endpoint.tls_server_name or self._endpoint.host
            self.sock = self._endpoint.tls.wrap_socket(self.sock, server_hostname=name)
        # http.client lets go of `sock` when an answer is to be the last.
        self.opened = self.sock

    def _open_tunnel(self, headers: dict[str, str]) -> None:
        # Not set_tunnel: it speaks HTTP/1.0, and names IPv6 hosts without brackets.
        authority = self._endpoint.authority
        lines = [f"{name}: {value}" for name, value in {"Host": authority, **headers}.items()]
        head = "\r\n".join([f"CONNECT {authority} HTTP/1.1", *lines, "", ""])
        self.sock.sendall(head.encode())
        with HTTPResponse(self.sock, method="CONNECT") as answer:
            answer.begin()
        if answer.status != HTTPStatus.OK:
            raise OSError(f"the proxy refuses: {answer.status} {answer.reason}")

    def send_request(self, request: Request, read_seconds: float) -> HTTPResponse:
        """Send it and read the head of the answer."""
        headers = {"Host": self._endpoint.authority, **request.headers}
        # http.client lets some through, and its errors would show the token.
        if not all(value.isprintable() for value in headers.values()):
            raise ValueError("a control character in a header")
        if self.sock is None:
            self._connect()
        self.sock.settimeout(min(read_seconds, request.allowed_seconds()))
        self.request(request.method, request.target, request.body, headers)
        self.sock.sendall(b"".join(self._unsent))
        self._unsent.clear()
        answer = self.getresponse()
        if answer.status < HTTPStatus.OK:  # another answer follows, and http.client drops it
            raise HTTPException(f"an interim answer: {answer.status}")
        return answer

    def send(self, data: Any) -> None:
        """Called by http.client for the head and for the body, which go out as one."""
        self._unsent.append(data)

    def _connect(self) -> None:
        try:
            self.connect()
        except ssl.SSLCertVerificationError:
            self._endpoint.trust_again()  # for the next try
            raise
        except TimeoutError as error:
            raise ConnectionError(f"no connection in time: {error}") from error

    @property
    def is_stale(self) -> bool:
        """Whether an idle connection has ended, or has brought bytes that nobody asked for."""
        poll = select.poll()
        poll.register(self.sock, select.POLLIN)
        return bool(poll.poll(0))


class Stream:
    """An answer that does not end by itself.

    One thread reads and releases; any other may close, which ends the reading at once.
    """

    def __init__(self, connection: _Connection, response: HTTPResponse) -> None:
        self._connection = connection
        self._response = response
        self._is_closed = False

    def chunks(self) -> Iterator[bytes]:
        """The bytes as they come; ends with the answer. Raises NETWORK_ERRORS if it breaks."""
        try:
            while chunk := self._response.read1(_READ_BYTES):
                yield chunk
            if self._response.length:
                raise IncompleteRead(b"", self._response.length)
        except NETWORK_ERRORS:
            if not self._is_closed:
                raise

    def close(self) -> None:
        """End the reading."""
        self._is_closed = True
        with suppress(OSError):  # closed already
            # Past the TLS layer, which another thread is using.
            socket.socket.shutdown(self._connection.opened, socket.SHUT_RDWR)

    def release(self) -> None:
        """Give the connection up; for the reader, when it is done."""
        self._response.close()
        self._connection.close()


class Pool:
    """Connections to one endpoint, kept for the next request; at most `size` lie idle.

    When one brings no answer in time, those that have brought none since are closed too: where a
    load balancer or a network has forgotten one, it has forgotten others.
    """

    def __init__(self, endpoint: Endpoint, size: int, clock: Clock | None = None) -> None:
        self._endpoint = endpoint
        self._size = size
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        """Guards _idle."""
        self._idle: list[_Connection] = []

    def exchange(
        self,
        request: Request,
        timeouts: Timeouts,
        is_stream: bool = False,
        max_bytes: int | None = None,
    ) -> tuple[Response, Stream | None]:
        """Send a request and read its answer. Raises NETWORK_ERRORS.

        With `is_stream` a success is not read: it comes as a stream to be released. Of any other
        answer `max_bytes` are read at most.
        """
        connection = self._take(timeouts)
        started = self._clock.monotonic()
        try:
            answer = connection.send_request(request, timeouts.read)
            headers = {name.lower(): value for name, value in answer.headers.items()}
            if is_stream and answer.status == HTTPStatus.OK:
                return Response(answer.status, headers), Stream(connection, answer)
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
        return Response(answer.status, headers, body, is_cut), None

    def close(self) -> None:
        """Close the idle connections; those that are in use are closed when they are given back."""
        with self._lock:
            self._size = 0
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
        # http.client has closed the socket where the server does not keep the connection.
        if connection.sock is not None:
            connection.answered_at = self._clock.monotonic()
            with self._lock:
                if len(self._idle) < self._size:
                    self._idle.append(connection)
                    return
        connection.close()


def _read_body(answer: HTTPResponse, max_bytes: int | None) -> tuple[bytes, bool]:
    """The body, or as much of it as may be read, and whether there is more."""
    body = answer.read(max_bytes)
    if max_bytes is None:
        return body, False
    is_cut = bool(answer.read(1))
    if answer.length and not is_cut:  # it has ended too soon, and with a limit nothing says so
        raise IncompleteRead(body, answer.length)
    return body, is_cut


def _proxy_headers(user: str | None, password: str | None) -> dict[str, str]:
    if not user:
        return {}
    secret = f"{unquote(user)}:{unquote(password or '')}".encode()
    return {"Proxy-Authorization": f"Basic {base64.b64encode(secret).decode()}"}
