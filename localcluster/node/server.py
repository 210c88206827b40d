"""The node's HTTPS server: the part of a kubelet's API for logs, exec, cp and port-forward.

It answers only clients with a certificate of the cluster's authority, such as the API server.
"""

import contextlib
import re
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from localcluster.client.pki import Authority
from localcluster.machine import clock
from localcluster.node.manager import PodManager
from localcluster.node.runtime.logs import LogQuery, read_log, timestamp
from localcluster.node.runtime.runtime import Runtime
from localcluster.node.stream import exec, forward
from localcluster.node.stream.channel import Channel
from localcluster.node.stream.exec import Exec
from localcluster.node.stream.forward import Forward

LOGS = re.compile(r"/containerLogs/(?P<namespace>[^/]+)/(?P<pod>[^/]+)/(?P<container>[^/]+)")
EXEC = re.compile(r"/exec/(?P<namespace>[^/]+)/(?P<pod>[^/]+)/(?P<container>[^/]+)")
FORWARD = re.compile(r"/portForward/(?P<namespace>[^/]+)/(?P<pod>[^/]+)")
MAX_CLIENTS = 512
"""The most connections at once, each of which has a thread; further ones are closed."""
HANDSHAKE_SECONDS = 10.0
"""The longest TLS handshake: before its end, the client has shown no certificate."""
SERVED = b"this node serves logs, exec and port-forward only"
WEBSOCKET_ONLY = b"this node serves exec and port-forward by WebSocket only"


class KubeletServer(ThreadingHTTPServer):
    """Listens on the node's address, on a free port.

    Each connection has a thread of its own, from the TLS handshake on.
    """

    daemon_threads = True
    pods: PodManager
    runtime: Runtime

    def __init__(self, address: str, folder: Path, client_authority: str | None) -> None:
        super().__init__((address, 0), _Handler)
        self._tls = _tls_context(address, folder, client_authority)
        self._places = threading.BoundedSemaphore(MAX_CLIENTS)

    def start(self, pods: PodManager, runtime: Runtime) -> None:
        """Start serving these pods in a thread."""
        self.pods = pods
        self.runtime = runtime
        threading.Thread(target=self.serve_forever, name="server", daemon=True).start()

    def get_request(self) -> tuple[socket.socket, Any]:
        """The next connection, before its TLS handshake."""
        plain, address = self.socket.accept()
        wrapped = self._tls.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
        return wrapped, address

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve the connection, if there is room for one more."""
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serve a client that has shown its certificate; a silent one keeps no place."""
        request.settimeout(HANDSHAKE_SECONDS)
        request.do_handshake()
        request.settimeout(None)
        super().finish_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore an error in a request: usually the client has disconnected."""


def _tls_context(address: str, folder: Path, client_authority: str | None) -> ssl.SSLContext:
    path = folder / "kubelet.pem"
    path.touch(0o600)
    pair = Authority().issue(address, [], [address])  # the API server accepts any certificate
    path.write_bytes(pair.key + pair.certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    if client_authority:
        context.load_verify_locations(cadata=client_authority)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: KubeletServer

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if address.path == "/healthz":
            self._answer(200, b"ok")
        elif match := LOGS.fullmatch(address.path):
            query = {name: values[-1] for name, values in parse_qs(address.query).items()}
            self._serve_log(match, query)
        elif match := EXEC.fullmatch(address.path):
            self._exec(match, parse_qs(address.query, keep_blank_values=True))
        elif match := FORWARD.fullmatch(address.path):
            self._forward(match)
        else:
            self._answer(404, SERVED)

    def do_POST(self) -> None:
        """Refuse SPDY. kubectl tries it after a refused WebSocket, and prints this answer."""
        self.close_connection = True
        self.do_GET()

    def _exec(self, match: re.Match[str], query: dict[str, list[str]]) -> None:
        worker = self.server.pods.find(match["namespace"], match["pod"])
        container = worker.process_of(match["container"]) if worker else None
        if container is None:
            self._answer(404, f'container not found ("{match["container"]}")'.encode())
        elif channel := self._upgrade(exec.SUBPROTOCOLS):
            Exec(channel, self.server.runtime, container, query).serve()

    def _forward(self, match: re.Match[str]) -> None:
        worker = self.server.pods.find(match["namespace"], match["pod"])
        if worker is None:
            self._answer(404, f'pod "{match["pod"]}" does not run'.encode())
        elif channel := self._upgrade(forward.SUBPROTOCOLS):
            Forward(channel, worker.connect).serve()

    def _upgrade(self, subprotocols: Sequence[str]) -> Channel | None:
        """Turn the connection into a WebSocket; None if the request was answered with an error."""
        self.close_connection = True
        if self.headers.get("Upgrade", "").lower() != "websocket":
            self._answer(501, WEBSOCKET_ONLY)
            return None
        channel = Channel(self.connection, self.headers.items(), subprotocols)
        return channel if channel.is_open else None

    def _serve_log(self, match: re.Match[str], query: dict[str, str]) -> None:
        folder = self.server.pods.log_folder(match["namespace"], match["pod"])
        path = _log_path(folder, match["container"], query.get("previous") == "true")
        name = f'"{match["container"]}" in pod "{match["pod"]}"'
        if path is None and query.get("previous") == "true":
            self._answer(400, f"previous terminated container {name} not found".encode())
        elif path is None:
            self._answer(400, f"container {name} is waiting to start".encode())
        else:
            is_complete = partial(
                self.server.pods.is_log_complete, match["namespace"], match["pod"], path
            )
            self._stream(read_log(path, _log_query(query), is_complete))

    def _stream(self, pieces: Iterator[bytes]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with contextlib.suppress(OSError):
            for piece in pieces:
                if piece:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                elif self._is_hung_up():
                    return
            self.wfile.write(b"0\r\n\r\n")

    def _is_hung_up(self) -> bool:
        """Whether the client has closed the connection. (It sends nothing after its request.)"""
        self.connection.settimeout(0.001)
        try:
            return not self.connection.recv(1)
        except (TimeoutError, ssl.SSLWantReadError):
            return False
        finally:
            self.connection.settimeout(None)

    def _answer(self, status: int, text: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged."""


def _log_path(folder: Path | None, container: str, previous: bool) -> Path | None:
    """The log of the container's last run, or of the run before that; None if there is none."""
    if folder is None:
        return None
    files = sorted((folder / container).glob("*.log"), key=lambda path: int(path.stem))
    if previous:
        del files[-1:]
    return files[-1] if files else None


def _log_query(query: dict[str, str]) -> LogQuery:
    since = query.get("sinceTime", "")
    if seconds := query.get("sinceSeconds"):
        since = timestamp(clock.now() - float(seconds))
    return LogQuery(
        follow=query.get("follow") == "true",
        timestamps=query.get("timestamps") == "true",
        tail_lines=int(query["tailLines"]) if "tailLines" in query else None,
        limit_bytes=int(query["limitBytes"]) if "limitBytes" in query else None,
        since=since,
    )
