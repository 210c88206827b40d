"""HTTP/1.1 as far as an API server needs it: requests with a body, answers of a known length, and
endless answers in chunks.

It is here because it is cheap. Creating one pod after the other over TLS, the client around it
included, costs 0.53 ms of CPU each, the API server on the same two cores. With http.client it is
0.65 ms and with urllib3 1.03 ms, and writes are half of what a job's start costs. Nothing is
retried, redirected or decompressed. A connection belongs to one thread while it is in use; any
thread may use the pool.
"""

import base64
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

MAX_HEADER_LINES = 200
MAX_LINE_BYTES = 65536
_READ_BYTES = 65536
"""More than a TLS record holds, so that none is left over of which the socket knows nothing."""
_FORBIDDEN_IN_HEADERS = frozenset("\r\n\0")


class HttpError(OSError):
    """The other side does not speak HTTP, or stopped in the middle of an answer."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """In seconds: for connecting, and for each read of an answer."""

    connect: float
    read: float


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to connect and how. `tls` is None for plain HTTP; `proxy` is a URL or empty."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    tls_server_name: str = ""
    proxy: str = ""
    socket_options: tuple[tuple[int, int, int], ...] = ()

    @property
    def authority(self) -> str:
        """The Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Request:
    """What to send. The Host and Content-Length headers are added."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes | None = None

    def encode(self, authority: str) -> bytes:
        """The bytes on the wire. Raises ValueError on a header that would not be one."""
        lines = [f"{self.method} {self.target} HTTP/1.1", f"Host: {authority}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        if self.body is not None:
            lines.append(f"Content-Length: {len(self.body)}")
        if any(not _FORBIDDEN_IN_HEADERS.isdisjoint(line) for line in lines):
            raise ValueError(f"a header of {self.method} {self.target} holds a control character")
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + (self.body or b"")


@dataclass(frozen=True, slots=True)
class Response:
    """What came back. Header names are in lower case. `body` is empty for a stream."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def is_chunked(self) -> bool:
        """Whether the body comes in chunks."""
        return "chunked" in self.headers.get("transfer-encoding", "").lower()


class _Incoming:
    """What has come in on a socket and is not taken yet. Raises HttpError where it ends early."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._data = bytearray()

    @property
    def has_more(self) -> bool:
        """Whether something, if only the end, can be read without waiting."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(self._data or poll.poll(0))

    def take_line(self) -> bytes:
        """The next line, without what ends it."""
        while (end := self._data.find(b"\n")) < 0:
            if len(self._data) > MAX_LINE_BYTES:
                raise HttpError("the answer has a line without an end")
            self._receive()
        return self._take(end + 1).rstrip(b"\r\n")

    def take(self, length: int) -> bytes:
        """So many bytes."""
        while len(self._data) < length:
            self._receive()
        return self._take(length)

    def take_rest(self) -> bytes:
        """All that comes until the other side ends."""
        while data := self._socket.recv(_READ_BYTES):
            self._data += data
        return self._take(len(self._data))

    def _receive(self) -> None:
        data = self._socket.recv(_READ_BYTES)
        if not data:
            raise HttpError("the answer stopped in the middle")
        self._data += data

    def _take(self, length: int) -> bytes:
        taken = bytes(self._data[:length])
        del self._data[:length]
        return taken


class Connection:
    """One connection to an endpoint. Raises OSError when anything about it fails."""

    def __init__(self, endpoint: Endpoint, connect_seconds: float) -> None:
        self._authority = endpoint.authority
        self._socket = _connect(endpoint, connect_seconds)
        self._incoming = _Incoming(self._socket)
        self.is_reusable = True

    @property
    def has_more(self) -> bool:
        """Whether something can be read at once.

        On an idle connection that is its end, or something unasked.
        """
        return self._incoming.has_more

    def send(self, request: Request, read_seconds: float) -> Response:
        """Send a request and read the head of its answer."""
        self._socket.settimeout(read_seconds)
        self._socket.sendall(request.encode(self._authority))
        while True:
            response = self._read_head()
            if response.status >= 200:
                return response

    def read_body(self, response: Response) -> bytes:
        """The whole of an answer."""
        if response.status in (204, 304):
            return b""
        if response.is_chunked:
            return b"".join(self.read_chunks())
        length = response.headers.get("content-length")
        if length is not None:
            return self._incoming.take(int(length))
        self.is_reusable = False
        return self._incoming.take_rest()

    def read_chunks(self) -> Iterator[bytes]:
        """The chunks of an answer as they come."""
        while size := self._read_chunk_size():
            chunk = self._incoming.take(size)
            self._incoming.take_line()
            yield chunk
        while self._incoming.take_line():
            continue  # trailers

    def shut_down(self) -> None:
        """End any read at once; the one thing that another thread may do."""
        self.is_reusable = False
        try:
            # Past the TLS layer, which another thread is using.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        except OSError:
            return  # closed already

    def close(self) -> None:
        """Close the connection."""
        self.is_reusable = False
        self._socket.close()

    def _read_head(self) -> Response:
        version, _, rest = self._incoming.take_line().partition(b" ")
        code = rest[:3]
        if not version.startswith(b"HTTP/1.") or not code.isdigit():
            raise HttpError(f"the answer is no HTTP: {version[:100]!r}")
        headers: dict[str, str] = {}
        for _ in range(MAX_HEADER_LINES):
            line = self._incoming.take_line()
            if not line:
                break
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        if version != b"HTTP/1.1" or headers.get("connection", "").lower() == "close":
            self.is_reusable = False
        return Response(int(code), headers)

    def _read_chunk_size(self) -> int:
        line = self._incoming.take_line()
        try:
            return int(line.partition(b";")[0], 16)
        except ValueError as error:
            raise HttpError(f"no size of a chunk: {line[:100]!r}") from error


class Stream:
    """An answer in chunks that does not end by itself.

    One thread reads and releases; any other may close, which ends the reading at once.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._is_closed = False

    def chunks(self, before_wait: Callable[[], None]) -> Iterator[bytes]:
        """Every chunk as it comes; ends with the answer. Raises OSError when it breaks.

        `before_wait` is called when all that has come is read.
        """
        try:
            for chunk in self._connection.read_chunks():
                yield chunk
                if not self._connection.has_more:
                    before_wait()
        except (OSError, ValueError):
            if not self._is_closed:
                raise

    def close(self) -> None:
        """End the reading."""
        self._is_closed = True
        self._connection.shut_down()

    def release(self) -> None:
        """Give the connection up; for the reader, when it is done."""
        self._connection.close()


class Pool:
    """Connections to one endpoint, kept for the next request; at most `size` lie idle."""

    def __init__(self, endpoint: Endpoint, size: int) -> None:
        self._endpoint = endpoint
        self._size = size
        self._lock = threading.Lock()
        """Guards _idle."""
        self._idle: list[Connection] = []

    def exchange(
        self, request: Request, timeouts: Timeouts, is_stream: bool = False
    ) -> tuple[Response, Stream | None]:
        """Send a request and read its answer. Raises OSError or ValueError.

        With `is_stream` a success in chunks is not read: it comes as a stream to be released.
        """
        connection = self._take(timeouts)
        try:
            head = connection.send(request, timeouts.read)
            if is_stream and head.status == 200 and head.is_chunked:
                return head, Stream(connection)
            response = Response(head.status, head.headers, connection.read_body(head))
        except BaseException:
            connection.close()
            raise
        self._give_back(connection)
        return response, None

    def close(self) -> None:
        """Close what lies idle."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self, timeouts: Timeouts) -> Connection:
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return Connection(self._endpoint, timeouts.connect)
            if not connection.has_more:
                return connection
            connection.close()

    def _give_back(self, connection: Connection) -> None:
        with self._lock:
            if connection.is_reusable and len(self._idle) < self._size:
                self._idle.append(connection)
                return
        connection.close()


def _connect(endpoint: Endpoint, seconds: float) -> socket.socket:
    proxy = urlsplit(endpoint.proxy) if endpoint.proxy else None
    first = (proxy.hostname or "", proxy.port or 80) if proxy else (endpoint.host, endpoint.port)
    plain = socket.create_connection(first, seconds)
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for option in endpoint.socket_options:
            plain.setsockopt(*option)
        if proxy:
            _ask_for_tunnel(plain, endpoint, proxy.username, proxy.password)
        if endpoint.tls is None:
            return plain
        name = endpoint.tls_server_name or endpoint.host
        return endpoint.tls.wrap_socket(plain, server_hostname=name)
    except BaseException:
        plain.close()
        raise


def _ask_for_tunnel(
    plain: socket.socket, endpoint: Endpoint, user: str | None, password: str | None
) -> None:
    """CONNECT. Reads byte by byte: what follows the answer belongs to TLS."""
    headers = {}
    if user:
        secret = f"{unquote(user)}:{unquote(password or '')}".encode()
        headers["Proxy-Authorization"] = f"Basic {base64.b64encode(secret).decode()}"
    plain.sendall(Request("CONNECT", endpoint.authority, headers).encode(endpoint.authority))
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        byte = plain.recv(1)
        if not byte or len(answer) > MAX_LINE_BYTES:
            raise HttpError("the proxy stopped in the middle")
        answer += byte
    if answer.split(b" ")[1:2] != [b"200"]:
        raise HttpError(f"the proxy refuses: {answer[:100]!r}")
