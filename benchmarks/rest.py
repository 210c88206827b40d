"""The harness's own way to the API server: raw bytes over connections that stay open.

Light on purpose, for what the harness takes of the CPU the operator lacks. Any thread may call;
each has a connection of its own.
"""

import http.client
import json
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

Raw = dict[str, Any]
JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
TIMEOUT_SECONDS = 120.0


class RestError(Exception):
    """The server answered with an error; `status` is the HTTP one."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Rest:
    """Calls as one user."""

    def __init__(self, server: str, ca_file: Path, token: str) -> None:
        self._address = urlsplit(server).netloc
        self._context = ssl.create_default_context(cafile=str(ca_file))
        self._authorization = f"Bearer {token}"
        self._mine = threading.local()

    def call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        content_type: str = JSON,
        accept: str = "",
    ) -> bytes:
        """The answer's body; raises RestError, or OSError without an answer."""
        headers = {"Authorization": self._authorization, "Content-Type": content_type}
        if accept:
            headers["Accept"] = accept
        try:
            status, answer = self._exchange(method, path, body, headers)
        except http.client.RemoteDisconnected:  # the server has closed an idle connection
            status, answer = self._exchange(method, path, body, headers)
        if status >= http.client.BAD_REQUEST:
            raise RestError(status, answer.decode(errors="replace")[:300])
        return answer

    def get(self, path: str) -> Any:
        """The JSON at a path."""
        return json.loads(self.call("GET", path))

    def post(self, path: str, body: Raw) -> Any:
        """Create an object; what the server made of it."""
        return json.loads(self.call("POST", path, json.dumps(body).encode()))

    def patch(self, path: str, body: Raw) -> None:
        """Apply a JSON merge patch."""
        self.call("PATCH", path, json.dumps(body).encode(), MERGE_PATCH)

    def lines(self, path: str, timeout_seconds: float) -> Iterator[bytes]:
        """The lines of an answer without an end, on a connection of its own."""
        connection = http.client.HTTPSConnection(
            self._address, timeout=timeout_seconds, context=self._context
        )
        try:
            connection.request("GET", path, headers={"Authorization": self._authorization})
            response = connection.getresponse()
            if response.status >= http.client.BAD_REQUEST:
                raise RestError(response.status, response.read().decode(errors="replace")[:300])
            while line := response.readline():
                yield line
        finally:
            connection.close()

    def _exchange(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        connection = self._connection()
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException):
            connection.close()  # it opens again by itself
            raise

    def _connection(self) -> http.client.HTTPSConnection:
        connection: http.client.HTTPSConnection | None = getattr(self._mine, "connection", None)
        if connection is None:
            connection = http.client.HTTPSConnection(
                self._address, timeout=TIMEOUT_SECONDS, context=self._context
            )
            self._mine.connection = connection
        return connection
