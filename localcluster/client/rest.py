"""The HTTP client of API servers: JSON over http.client, on connections that are kept.

Any thread may use one Client; a connection serves one request at a time. Objects are plain dicts.
"""

import base64
import contextlib
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

import yaml

Raw = dict[str, Any]

TIMEOUT_SECONDS = 30.0
JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
NOT_FOUND, CONFLICT = 404, 409
# What a closed, refused or broken connection raises; the request may be tried again.
CONNECTION_ERRORS = (OSError, http.client.HTTPException)


class ApiError(Exception):
    """The server's refusal: its HTTP status, reason and message."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{message} ({status} {reason})")
        self.status = status
        self.reason = reason
        self.message = message


class Endpoint:
    """Where a server is and how to prove who asks; `authority` is PEM."""

    def __init__(self, server: str, authority: str | None, token: str = "") -> None:
        address = urlsplit(server)
        self.host = address.hostname or "127.0.0.1"
        self.port = address.port or 443
        self.authority = authority
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        is_plain = address.scheme == "http"
        self._tls = None if is_plain else ssl.create_default_context(cadata=authority)

    @classmethod
    def from_kubeconfig(cls, path: Path) -> Self:
        """What a kubeconfig of the local cluster says: it has one server and one token."""
        config = yaml.safe_load(path.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        return cls(cluster["server"], authority, user["token"])

    def connect(self, timeout_seconds: float) -> http.client.HTTPConnection:
        """A new connection; it opens at the first request."""
        if self._tls is None:
            return http.client.HTTPConnection(self.host, self.port, timeout=timeout_seconds)
        return http.client.HTTPSConnection(
            self.host, self.port, timeout=timeout_seconds, context=self._tls
        )


def has_condition(thing: Raw, kind: str) -> bool:
    """Whether an object's condition of this type is True."""
    conditions = (thing.get("status") or {}).get("conditions") or []
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)


class Client:
    """Requests to one server; close it at the end, by `close` or as a context manager."""

    def __init__(self, endpoint: Endpoint, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self.endpoint = endpoint
        self._timeout_seconds = timeout_seconds
        self._lock = threading.Lock()  # guards _idle
        self._idle: list[http.client.HTTPConnection] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections that no request is using."""
        while (connection := self._take_idle()) is not None:
            connection.close()

    def is_ok(self, path: str) -> bool:
        """Whether GET succeeds; no answer at all is a no."""
        try:
            self.send("GET", path)
        except (ApiError, *CONNECTION_ERRORS):
            return False
        return True

    def get(self, path: str, **query: str) -> Raw:
        """One object, or a list. Raises as `send` does, like all below."""
        return self.request("GET", f"{path}?{urlencode(query)}" if query else path)

    def find(self, path: str) -> Raw | None:
        """The same, or None where there is nothing."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == NOT_FOUND:
                return None
            raise

    def create(self, path: str, body: Raw) -> Raw:
        """POST to a collection; the object as the API server made it."""
        return self.request("POST", path, body)

    def patch(self, path: str, body: Raw, content_type: str = STRATEGIC_MERGE_PATCH) -> Raw:
        """Apply a patch of this kind."""
        return self.request("PATCH", path, body, content_type)

    def delete(self, path: str, body: Raw) -> Raw:
        """DELETE with these DeleteOptions."""
        return self.request("DELETE", path, body)

    def request(
        self, method: str, path: str, body: Raw | None = None, content_type: str = JSON
    ) -> Raw:
        """One request, answered in JSON."""
        data = None if body is None else json.dumps(body).encode()
        return dict(json.loads(self.send(method, path, data, content_type)))

    def send(
        self,
        method: str,
        path: str,
        data: bytes | None = None,
        content_type: str = JSON,
        accept: str = JSON,
    ) -> bytes:
        """The answer's body. Raises ApiError, or one of CONNECTION_ERRORS."""
        headers = {"Content-Type": content_type, "Accept": accept} | self.endpoint.headers
        request = (method, path, data, headers)
        if (idle := self._take_idle()) is not None:
            with contextlib.suppress(ConnectionError, ssl.SSLError):  # closed meanwhile
                return self._ask(idle, *request)
        return self._ask(self.endpoint.connect(self._timeout_seconds), *request)

    def watch(self, path: str, read_timeout_seconds: float, **query: str) -> "Watch":
        """Open a watch; the caller closes it."""
        connection = self.endpoint.connect(read_timeout_seconds)
        return Watch(connection, f"{path}?{urlencode(query)}", self.endpoint.headers)

    def _ask(self, connection: http.client.HTTPConnection, *request: Any) -> bytes:
        try:
            connection.request(*request)
            response = connection.getresponse()
            answer = response.read()
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._idle.append(connection)
        _raise_for(response.status, answer)
        return answer

    def _take_idle(self) -> http.client.HTTPConnection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None


class Watch:
    """One open watch: an iterator of events that `close`, from any thread, ends."""

    def __init__(
        self, connection: http.client.HTTPConnection, path: str, headers: dict[str, str]
    ) -> None:
        self._connection = connection
        self._is_closed = False
        try:
            connection.request("GET", path, headers=headers)
            self._response = connection.getresponse()
            if self._response.status >= http.client.BAD_REQUEST:
                _raise_for(self._response.status, self._response.read())
        except BaseException:
            connection.close()
            raise

    def __iter__(self) -> Iterator[Raw]:
        """Raises one of CONNECTION_ERRORS where it is cut off, by `close` too."""
        try:
            for line in self._response:
                yield json.loads(line)
            if self._is_closed:  # before the read began, which then finds nothing
                raise ConnectionError("the watch was closed")
        except (ValueError, AttributeError) as error:  # half a line; closed in the middle of a read
            raise ConnectionError("the watch was cut off") from error

    def close(self) -> None:
        """End the watch, also in the middle of a read."""
        self._is_closed = True
        if self._connection.sock is not None:
            with contextlib.suppress(OSError):  # not connected any more
                self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._connection.close()


def _raise_for(status: int, answer: bytes) -> None:
    """Raise the ApiError that an answer is, if it is one: a Status, or words of a proxy's."""
    if status < http.client.BAD_REQUEST:
        return
    try:
        parsed = dict(json.loads(answer))
    except (ValueError, TypeError):
        parsed = {"message": answer.decode(errors="replace").strip()}
    raise ApiError(status, parsed.get("reason", ""), parsed.get("message", ""))
