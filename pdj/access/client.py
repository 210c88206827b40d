"""Requests to the API server as raw objects. Failures are those of `kube.errors`.

Any thread may call; each request in flight has a connection of its own.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from api.objects import Raw
from kube import errors
from kube.http import NETWORK_ERRORS, Pool, Request, Response, Stream, Timeouts
from pdj.access.connection import Connection
from pdj.access.parsing import parse_json

USER_AGENT = "kubectl-pdj"
TIMEOUTS = Timeouts(connect=5.0, read=30.0)
STREAM_READ_SECONDS = 3600.0
"""A log may be silent for long; whoever reads it closes it when its pod has gone."""
PAGE = 500
IDLE_CONNECTIONS = 8
JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
MAX_FOLLOWING_BYTES = 3
"""Of a character in UTF-8, after its first."""

Query = dict[str, Any]


class Client:
    """Requests with the rights of the kubeconfig's user."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._pool = Pool(connection.endpoint, IDLE_CONNECTIONS)

    def close(self) -> None:
        """Close the connections that are idle."""
        self._pool.close()

    def get(self, path: str, query: Query | None = None) -> Raw:
        """One object or one page of a list. Raises ApiError, as all of these do."""
        return parse_json(self._send("GET", path, query).body)

    def find(self, path: str, query: Query | None = None) -> Raw | None:
        """The object, or None where the API server says that there is none."""
        try:
            return self.get(path, query)
        except errors.NotFound:
            return None

    def list(self, path: str, query: Query | None = None) -> tuple[list[Raw], str]:
        """All objects of a collection, page by page, and the version of the list."""
        items: list[Raw] = []
        page: Query = {"limit": PAGE, **(query or {})}
        while True:
            answer = self.get(path, page)
            items += answer.get("items") or ()
            metadata = answer.get("metadata") or {}
            if not metadata.get("continue"):
                return items, str(metadata.get("resourceVersion") or "")
            page["continue"] = metadata["continue"]

    def create(self, path: str, body: Raw, query: Query | None = None) -> Raw:
        """POST to a collection, with unknown fields refused; the object as it was made."""
        strict = {"fieldValidation": "Strict", **(query or {})}
        return parse_json(self._send("POST", path, strict, body).body)

    def merge_patch(self, path: str, body: Raw) -> Raw:
        """Change an object by a JSON merge patch; the object as it is then."""
        return parse_json(self._send("PATCH", path, None, body, MERGE_PATCH).body)

    def delete(self, path: str, uid: str) -> None:
        """Delete an object, only if it still has this UID; what it owns goes in the background."""
        options = {"preconditions": {"uid": uid}, "propagationPolicy": "Background"}
        self._send("DELETE", path, None, options)

    def text(self, path: str, query: Query | None = None) -> str:
        """An answer that is no JSON."""
        return self._send("GET", path, query).body.decode(errors="replace")

    def stream(self, path: str, query: Query, read_seconds: float = STREAM_READ_SECONDS) -> Stream:
        """An answer that goes on; the caller releases it."""
        response, stream = self._exchange("GET", path, query, None, JSON, read_seconds)
        if stream is None:
            raise _error_from(response)
        return stream

    def _send(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: Raw | None = None,
        content_type: str = JSON,
    ) -> Response:
        response, _ = self._exchange(method, path, query, body, content_type)
        if response.status >= 300:
            raise _error_from(response)
        return response

    def _exchange(
        self,
        method: str,
        path: str,
        query: Query | None,
        body: Raw | None,
        content_type: str,
        stream_seconds: float = 0.0,
    ) -> tuple[Response, Stream | None]:
        """Send; when the credentials are refused, once more with what they are now."""
        target = self._connection.prefix + path + (f"?{urlencode(query)}" if query else "")
        data = None if body is None else json.dumps(body).encode()
        headers = {"Accept": "*/*" if stream_seconds else JSON, "User-Agent": USER_AGENT}
        if data is not None:
            headers["Content-Type"] = content_type
        authorization = self._connection.identity.authorization
        response, stream = self._transmit(
            Request(method, target, headers | _header(authorization), data), stream_seconds
        )
        if response.status != 401 or authorization is None:
            return response, stream
        renewed = self._connection.renew()
        return self._transmit(
            Request(method, target, headers | _header(renewed), data), stream_seconds
        )

    def _transmit(self, request: Request, stream_seconds: float) -> tuple[Response, Stream | None]:
        timeouts = Timeouts(TIMEOUTS.connect, stream_seconds or TIMEOUTS.read)
        try:
            return self._pool.exchange(request, timeouts, is_stream=bool(stream_seconds))
        except NETWORK_ERRORS as error:
            where = self._connection.endpoint.authority
            raise errors.Unreachable(f"no answer from the API server {where}: {error}") from error


@dataclass(frozen=True, slots=True)
class Piece:
    """A line of a stream, or a part of one that is long: the last of its parts `ends_line`."""

    text: bytes
    ends_line: bool = True


def lines_of(stream: Stream) -> Iterator[bytes]:
    """Every whole line of a stream, and what is left at its end. Raises Transient if it breaks."""
    return (piece.text for piece in pieces_of(stream, sys.maxsize))


def pieces_of(stream: Stream, max_bytes: int) -> Iterator[Piece]:
    """The same of lines that may be long: each in pieces of at most so many bytes.

    A line is cut between characters, and always at the same places, however its bytes come.
    """
    rest = bytearray()
    try:
        for chunk in stream.chunks():
            rest += chunk
            if b"\n" in chunk:
                *lines, last = rest.split(b"\n")
                for line in lines:
                    yield from _cut(line, max_bytes)
                    yield Piece(bytes(line))
                rest = last
            yield from _cut(rest, max_bytes)
    except NETWORK_ERRORS as error:
        raise errors.Transient(f"the stream broke: {error}") from error
    if rest:
        yield Piece(bytes(rest))


def _cut(line: bytearray, max_bytes: int) -> Iterator[Piece]:
    """Take pieces from the beginning of a line until the rest of it is none too many."""
    while len(line) > max_bytes:
        end = max_bytes
        while end > max_bytes - MAX_FOLLOWING_BYTES and line[end] & 0xC0 == 0x80:
            end -= 1
        yield Piece(bytes(line[:end]), ends_line=False)
        del line[:end]


def _header(authorization: str | None) -> dict[str, str]:
    return {"Authorization": authorization} if authorization else {}


def _error_from(response: Response) -> errors.ApiError:
    try:
        status = parse_json(response.body)
    except errors.Transient:
        status = {}
    retry = response.headers.get("retry-after", "")
    after = float(retry) if retry.isdecimal() else None
    return errors.error_from_status(response.status, status, after)
