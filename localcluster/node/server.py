"""The node's own HTTPS server: the part of a kubelet's that `kubectl logs` needs.

Only a client with a certificate of the cluster's authority, which the API server has, is answered.
"""

import contextlib
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from localcluster import clock
from localcluster.node.logs import LogQuery, read_log, timestamp
from localcluster.node.manager import PodManager

LOGS = re.compile(r"/containerLogs/(?P<namespace>[^/]+)/(?P<pod>[^/]+)/(?P<container>[^/]+)")
LOGS_ONLY = b"this node serves container logs only"


class KubeletServer:
    """Listens on the node's address, on a free port."""

    def __init__(self, address: str, folder: Path, client_authority: str | None) -> None:
        self._tls = _tls_context(address, folder, client_authority)
        self._server = _Server((address, 0), _Handler)
        self._server.tls = self._tls

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    def start(self, pods: PodManager) -> None:
        """Begin to answer for these pods, in a thread."""
        self._server.pods = pods
        threading.Thread(target=self._server.serve_forever, name="server", daemon=True).start()


def _tls_context(address: str, folder: Path, client_authority: str | None) -> ssl.SSLContext:
    path = folder / "kubelet.pem"
    path.touch(0o600)
    path.write_bytes(_self_signed(address))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    if client_authority:
        context.load_verify_locations(cadata=client_authority)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _self_signed(address: str) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, address)])
    now = datetime.fromtimestamp(clock.now(), UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=365))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return private + certificate.public_bytes(serialization.Encoding.PEM)


class _Server(ThreadingHTTPServer):
    """Each connection is served, and its TLS begun, in a thread of its own."""

    daemon_threads = True
    tls: ssl.SSLContext
    pods: PodManager

    def get_request(self) -> tuple[socket.socket, Any]:
        plain, address = self.socket.accept()
        wrapped = self.tls.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
        return wrapped, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle is none of the node's trouble."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

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
        """exec, attach and port-forward: kubectl prints the answer as it is."""
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
            is_complete = self.server.pods.log_watch(match["namespace"], match["pod"], path)
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
        """Whether the client, which sends nothing while it listens, has closed the connection."""
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
        files.pop() if files else None
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
