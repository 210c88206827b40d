"""A proxy between an operator and the API server: the place where faults are made.

It speaks plain HTTP to the operator and passes everything on with the cluster's admin token. What
it counts as a write is what changes a job or its children: Events and Leases are not.
"""

import http.client
import json
import ssl
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from localcluster import Cluster

WRITES = ("POST", "PATCH", "PUT", "DELETE")
NOT_COUNTED = ("/events", "/leases")
PIECE_BYTES = 65536


class FaultProxy:
    """Passes requests on; `after_write` is called with the number of each write once it is done.

    The call comes after the API server has answered and before the operator hears of it. Returns
    True to let the answer through, False to cut the connection instead.
    """

    def __init__(self, cluster: Cluster, after_write: Callable[[int], bool]) -> None:
        self._upstream = urlsplit(cluster.server).netloc
        self._token = cluster.token
        self._tls = ssl.create_default_context(cafile=str(cluster.ca_file))
        self._after_write = after_write
        self._lock = threading.Lock()
        """Guards _writes."""
        self._writes = 0
        self._server = _Server(("127.0.0.1", 0), _handler_of(self))
        self._thread = threading.Thread(target=self._server.serve_forever, name="proxy")
        self._thread.start()

    @property
    def url(self) -> str:
        """What the operator takes for the API server."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def writes(self) -> int:
        """Writes so far."""
        with self._lock:
            return self._writes

    def write_kubeconfig(self, path: Path) -> Path:
        """A kubeconfig that leads through the proxy."""
        path.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "proxy", "cluster": {"server": self.url}}],
                    "users": [{"name": "any", "user": {"token": "any"}}],
                    "contexts": [{"name": "c", "context": {"cluster": "proxy", "user": "any"}}],
                    "current-context": "c",
                }
            )
        )
        return path

    def close(self) -> None:
        """Stop; open connections end with their threads."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def pass_on(self, handler: BaseHTTPRequestHandler) -> None:
        """One request, to the API server and back."""
        connection = http.client.HTTPSConnection(self._upstream, context=self._tls, timeout=120)
        try:
            self._exchange(connection, handler)
        except OSError:
            handler.close_connection = True
        finally:
            connection.close()

    def _exchange(
        self, connection: http.client.HTTPSConnection, handler: BaseHTTPRequestHandler
    ) -> None:
        length = int(handler.headers.get("Content-Length") or 0)
        headers = {"Authorization": f"Bearer {self._token}"}
        if "Content-Type" in handler.headers:
            headers["Content-Type"] = handler.headers["Content-Type"]
        method = handler.command or ""
        connection.request(method, handler.path, handler.rfile.read(length), headers)
        response = connection.getresponse()
        if not self._lets_through(method, handler.path, response):
            handler.close_connection = True
            return
        _relay(response, handler)

    def _lets_through(self, method: str, path: str, response: Any) -> bool:
        if method not in WRITES or any(part in path for part in NOT_COUNTED):
            return True
        if response.status >= http.client.BAD_REQUEST:
            return True
        with self._lock:
            self._writes += 1
            count = self._writes
        return self._after_write(count)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """An operator that was killed leaves broken connections: that is the point."""


def _relay(response: http.client.HTTPResponse, handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(response.status)
    handler.send_header("Content-Type", response.headers.get("Content-Type", "application/json"))
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    while piece := response.read1(PIECE_BYTES):
        handler.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        handler.wfile.flush()
    handler.wfile.write(b"0\r\n\r\n")


def _handler_of(proxy: FaultProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

        def _pass_on(self) -> None:
            proxy.pass_on(self)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _pass_on

    return Handler


def audit_entries(
    cluster: Cluster, stages: Sequence[str] = ("ResponseComplete",)
) -> list[dict[str, Any]]:
    """The API server's audit log so far: of each request these stages."""
    entries = []
    with cluster.audit_log.open() as log:
        for line in log:
            if line.endswith("\n"):
                entry = json.loads(line)
                if entry.get("stage") in stages:
                    entries.append(entry)
    return entries
