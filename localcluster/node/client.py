"""A small client of the API server: JSON over http.client, with kept connections.

Any thread may use one Client; a connection serves one request at a time. Objects are plain dicts.
"""

import base64
import contextlib
import http.client
import json
import socket
import ssl
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import yaml

Raw = dict[str, Any]

TIMEOUT_SECONDS = 30.0
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
# What a closed, refused or broken connection raises; the request may be tried again.
CONNECTION_ERRORS = (OSError, http.client.HTTPException)


class ApiError(Exception):
    """The server's refusal: its HTTP status, reason and message."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{message} ({status} {reason})")
        self.status = status
        self.reason = reason
        self.message = message


class Connection:
    """Where the API server is and how to prove who asks: what a kubeconfig's context says."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        context = _named(config["contexts"], config["current-context"])["context"]
        cluster = _named(config["clusters"], context["cluster"])["cluster"]
        user = _named(config["users"], context["user"])["user"]
        address = urlsplit(cluster["server"])
        self.host = address.hostname or "127.0.0.1"
        self.port = address.port or 443
        self.headers = {"Authorization": f"Bearer {user['token']}"} if "token" in user else {}
        self.authority = _pem(cluster, "certificate-authority")
        self._tls = _tls_context(cluster, user) if address.scheme == "https" else None

    def open(self, timeout_seconds: float) -> http.client.HTTPConnection:
        """A new connection."""
        if self._tls is None:
            return http.client.HTTPConnection(self.host, self.port, timeout=timeout_seconds)
        return http.client.HTTPSConnection(
            self.host, self.port, timeout=timeout_seconds, context=self._tls
        )


def _named(items: list[Raw], name: str) -> Raw:
    return next(item for item in items if item["name"] == name)


def _tls_context(cluster: Raw, user: Raw) -> ssl.SSLContext:
    tls = ssl.create_default_context(cadata=_pem(cluster, "certificate-authority"))
    if cluster.get("insecure-skip-tls-verify"):
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    certificate, key = _pem(user, "client-certificate"), _pem(user, "client-key")
    if certificate and key:
        with tempfile.NamedTemporaryFile("w") as file:  # OpenSSL reads a key from a file alone
            file.write(certificate + "\n" + key)
            file.flush()
            tls.load_cert_chain(file.name)
    return tls


def _pem(entry: Raw, name: str) -> str | None:
    if data := entry.get(f"{name}-data"):
        return base64.b64decode(data).decode()
    if path := entry.get(name):
        return Path(path).read_text()
    return None


class Client:
    """Requests to one API server."""

    def __init__(self, kubeconfig: Path) -> None:
        self.connection = Connection(kubeconfig)
        self._lock = threading.Lock()  # guards _idle
        self._idle: list[http.client.HTTPConnection] = []

    def get(self, path: str, **query: str) -> Raw:
        """One object, or a list. Raises as `request` does, like all below."""
        return self.request("GET", path, query=query)

    def create(self, path: str, body: Raw) -> Raw:
        """POST to a collection; the object as the API server made it."""
        return self.request("POST", path, body)

    def replace(self, path: str, body: Raw) -> Raw:
        """PUT a whole object."""
        return self.request("PUT", path, body)

    def patch(self, path: str, body: Raw) -> Raw:
        """Apply a strategic merge patch."""
        return self.request("PATCH", path, body, content_type=STRATEGIC_MERGE_PATCH)

    def delete(self, path: str, body: Raw) -> Raw:
        """DELETE with these DeleteOptions."""
        return self.request("DELETE", path, body)

    def request(
        self,
        method: str,
        path: str,
        body: Raw | None = None,
        query: dict[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Raw:
        """One request, answered in JSON. Raises ApiError, or one of CONNECTION_ERRORS."""
        target = f"{path}?{urlencode(query)}" if query else path
        headers = {"Content-Type": content_type, "Accept": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        status, answer = self._exchange(method, target, data, headers)
        return _checked(status, answer)

    def _exchange(
        self, method: str, target: str, data: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        connection = self._take_idle()
        if connection is not None:
            try:
                return self._ask(connection, method, target, data, headers)
            except CONNECTION_ERRORS:
                pass  # the server has closed it meanwhile: ask again on a new one
        return self._ask(self.connection.open(TIMEOUT_SECONDS), method, target, data, headers)

    def _ask(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        data: bytes | None,
        headers: dict[str, str],
    ) -> tuple[int, bytes]:
        try:
            connection.request(method, target, data, headers | self.connection.headers)
            response = connection.getresponse()
            answer = response.read()
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._idle.append(connection)
        return response.status, answer

    def _take_idle(self) -> http.client.HTTPConnection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def close(self) -> None:
        """Close the connections that no request is using."""
        while (connection := self._take_idle()) is not None:
            connection.close()

    def watch(self, path: str, accept: str, read_timeout_seconds: float, **query: str) -> "Watch":
        """Open a watch; the caller closes it."""
        return Watch(
            self.connection.open(read_timeout_seconds),
            f"{path}?{urlencode(query)}",
            {"Accept": accept} | self.connection.headers,
        )


class Watch:
    """One open watch: an iterator of events that `close`, from any thread, ends."""

    def __init__(
        self, connection: http.client.HTTPConnection, target: str, headers: dict[str, str]
    ) -> None:
        self._connection = connection
        try:
            connection.request("GET", target, headers=headers)
            self._response = connection.getresponse()
            if self._response.status != 200:
                _checked(self._response.status, self._response.read())
        except BaseException:
            connection.close()
            raise

    def __iter__(self) -> Iterator[Raw]:
        for line in self._response:
            yield json.loads(line)

    def close(self) -> None:
        """End the watch, also in the middle of a read."""
        if self._connection.sock is not None:
            with contextlib.suppress(OSError):  # not connected any more
                self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._connection.close()


def _checked(status: int, answer: bytes) -> Raw:
    try:
        parsed = json.loads(answer)
    except ValueError:
        parsed = {"message": answer.decode(errors="replace").strip()}
    if status >= 400:
        raise ApiError(status, parsed.get("reason", ""), parsed.get("message", ""))
    return dict(parsed)
