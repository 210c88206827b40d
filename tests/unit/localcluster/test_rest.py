"""What the local cluster adds to the client of `kube`: yes or no about a server, and conditions."""

import socket
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from localcluster.client.rest import Client, Server, has_condition


class Handler(BaseHTTPRequestHandler):
    """Answers with the status that the path names, or not at all."""

    def do_GET(self) -> None:
        if self.path != "/silent":
            self.send_response(int(self.path[1:]))
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged."""


@pytest.mark.parametrize(("path", "is_ok"), [("/200", True), ("/503", False), ("/silent", False)])
def test_is_ok(path: str, is_ok: bool) -> None:
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.handle_request)
        thread.start()
        with Client(Server(f"http://127.0.0.1:{server.server_port}"), 0.5) as client:
            assert client.is_ok(path) is is_ok
        thread.join()


def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with Client(Server(f"http://127.0.0.1:{taken.getsockname()[1]}")) as client:
            assert not client.is_ok("/")


@pytest.mark.parametrize(
    ("status", "holds"),
    [
        pytest.param({"conditions": [{"type": "Ready", "status": "True"}]}, True, id="true"),
        pytest.param({"conditions": [{"type": "Ready", "status": "False"}]}, False, id="false"),
        pytest.param({"conditions": [{"type": "Other", "status": "True"}]}, False, id="another"),
        pytest.param({"conditions": None}, False, id="no conditions"),
        pytest.param(None, False, id="no status"),
    ],
)
def test_conditions(status: dict[str, Any] | None, holds: bool) -> None:
    assert has_condition({"status": status}, "Ready") is holds
