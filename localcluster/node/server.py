"""The node's HTTPS server: the part of a kubelet's server that `kubectl logs` needs.

It answers only clients with a certificate of the cluster's authority, such as the API server.
"""

import contextlib
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from localcluster.client.pki import Authority
from localcluster.machine import clock
from localcluster.node.manager import PodManager
from localcluster.node.runtime.logs import LogQuery, read_log, timestamp

LOGS = re.compile(r"/containerLogs/(?P<namespace>[^/]+)/(?P<pod>[^/]+)/(?P<container>[^/]+)")
LOGS_ONLY = b"this node serves container logs only"


class KubeletServer(ThreadingHTTPServer):
    """Listens on the node's address, on a free port.

    Each connection has a thread of its own, from the TLS handshake on.
    """

    daemon_threads = True
    pods: PodManager

    def __init__(self, address: str, folder: Path, client_authority: str | None) -> None:
        super().__init__((address, 0), _Handler)
        self._tls = _tls_context(address, folder, client_authority)

    def start(self, pods: PodManager) -> None:
        """Start serving the logs of these pods in a thread."""
        self.pods = pods
        threading.Thread(target=self.serve_forever, name="server", daemon=True).start()

    def get_request(self) -> tuple[socket.socket, Any]:
        """The next connection, before its TLS handshake."""
        plain, address = self.socket.accept()
        wrapped = self._tls.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
        return wrapped, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect in the middle of a request."""


def _tls_context(address: str, folder: Path, client_authority: str | None) -> ssl.SSLContext:
    path = folder / "kubelet.pem"
    path.touch(0o600)
    pair = Authority().issue(address, [], [address])  # of an authority that nobody knows
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
        else:
            self._answer(404, LOGS_ONLY)

    def do_POST(self) -> None:
        """Refuse exec, attach and port-forward; kubectl prints the message."""
        self.close_connection = True
        self._answer(501, LOGS_ONLY)

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
        """Whether the client, which only receives, has closed the connection."""
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
    """The log of the newest run, or of the one before it."""
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
