"""The API server, as raw objects over HTTP.

Always: every call has a connect and a read timeout, and every failure is an `errors.ApiError`.
Nothing is retried here, with one exception: when a token is refused, it is read again and the
request is sent once more. Any thread may call; the threads of one client share its connections.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from urllib.parse import urlencode

import orjson

from api.objects import Raw
from controller.client import http, protobuf
from controller.client.connection import Connection
from controller.client.errors import (
    ApiError,
    Invalid,
    NotLeader,
    Silent,
    TooLarge,
    Transient,
    Unreachable,
    error_from_status,
)
from controller.client.http import NETWORK_ERRORS, Pool, Request, Response, Timeouts
from controller.client.parsing import parse_json
from metrics import Metrics

USER_AGENT = "paddlejob-operator"
CONNECT_TIMEOUT_SECONDS = 3.0
READ_TIMEOUT_SECONDS = 10.0
LIST_READ_TIMEOUT_SECONDS = 60.0
MERGE_PATCH = "application/merge-patch+json"
JSON = "application/json"
METADATA_ONLY = f"{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,{JSON}"
"""For answers to writes: only names and versions in them are needed, and a pod is large."""

Query = dict[str, str | int]
UNCHECKED: Query = {"fieldValidation": "Ignore"}
"""Nobody reads warnings about unknown fields, and looking for them takes a tenth of a create."""


@dataclass(frozen=True, slots=True)
class _Call:
    method: str
    url: str
    read_seconds: float
    body: bytes | None = None
    content_type: str = JSON
    accept: str = JSON
    is_stream: bool = False
    allowed_seconds: Callable[[], float] = lambda: math.inf
    max_bytes: int | None = None

    def request(self, authorization: str | None) -> Request:
        headers = {"Accept": self.accept, "User-Agent": USER_AGENT}
        if self.body is not None:
            headers["Content-Type"] = self.content_type
        if authorization:
            headers["Authorization"] = authorization
        return Request(self.method, self.url, headers, self.body, self.allowed_seconds)


class ApiClient:
    """Requests on one pool of connections.

    `pool_size` is the number of threads that use the client at once. `write_seconds` says for how
    long writes are still allowed: the lease of the leader, infinite without an election.
    """

    def __init__(
        self,
        connection: Connection,
        metrics: Metrics,
        pool_size: int,
        write_seconds: Callable[[], float] = lambda: float("inf"),
        read_timeout_seconds: float = READ_TIMEOUT_SECONDS,
    ) -> None:
        self._pool = Pool(connection.endpoint, pool_size, connection.credentials.clock)
        self._prefix = connection.prefix
        self._host = connection.endpoint.authority
        self._credentials = connection.credentials
        self._metrics = metrics.client
        self._write_seconds = write_seconds
        self._read_timeout = read_timeout_seconds

    def get(
        self,
        path: str,
        query: Query | None = None,
        accept: str = JSON,
        max_bytes: int | None = None,
    ) -> Raw:
        """One object, or one page of a list; `accept` says in which encodings it may come.

        Raises TooLarge where it is longer than `max_bytes`.
        """
        seconds = LIST_READ_TIMEOUT_SECONDS if query else self._read_timeout
        url = self._url(path, query)
        return self._read(_Call("GET", url, seconds, accept=accept, max_bytes=max_bytes))

    def create(self, path: str, body: Raw) -> Raw:
        """POST to a collection; the metadata of the object as the API server made it."""
        url = self._url(path, UNCHECKED)
        return self._write("POST", url, body, accept=METADATA_ONLY)

    def replace(self, path: str, body: Raw) -> Raw:
        """PUT a whole object. With a resourceVersion in it, only over that version."""
        return self._write("PUT", self._url(path), body)

    def merge_patch(self, path: str, body: Raw) -> Raw:
        """Apply a JSON merge patch (RFC 7386); the metadata of the object that it made."""
        return self._write("PATCH", self._url(path), body, MERGE_PATCH, METADATA_ONLY)

    def delete(self, path: str, uid: str, grace_seconds: int | None = None) -> Raw:
        """Delete, only if the object still has this UID; its dependents follow by themselves."""
        options: Raw = {"preconditions": {"uid": uid}, "propagationPolicy": "Background"}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        return self._write("DELETE", self._url(path), options)

    def watch(
        self, path: str, query: Query, read_timeout_seconds: float, accept: str = JSON
    ) -> "Stream":
        """An answer that goes on, event by event; the caller releases it."""
        url = self._url(path, query)
        call = _Call("GET", url, read_timeout_seconds, accept=accept, is_stream=True)
        response, stream = self._exchange(call)
        if stream is None:
            raise _error_from(response)
        return Stream(stream, _is_protobuf(response))

    def close(self) -> None:
        """Close the connections that lie idle."""
        self._pool.close()

    def _write(
        self,
        method: str,
        url: str,
        body: Raw,
        content_type: str = JSON,
        accept: str = JSON,
    ) -> Raw:
        def allowed_seconds() -> float:
            seconds = self._write_seconds()
            if seconds <= 0:
                raise NotLeader(f"{method} {url} not sent: the lease has run out")
            return seconds

        allowed_seconds()  # not even a connection, then
        call = _Call(method, url, self._read_timeout, _encode(body), content_type, accept)
        return self._read(replace(call, allowed_seconds=allowed_seconds))

    def _url(self, path: str, query: Query | None = None) -> str:
        return f"{self._prefix}{path}?{urlencode(query)}" if query else self._prefix + path

    def _read(self, call: _Call) -> Raw:
        response, _ = self._exchange(call)
        if response.status >= 300:
            raise _error_from(response)
        if response.is_cut:
            raise TooLarge(f"{call.url}: more than {call.max_bytes} bytes")
        return _decode(response)

    def _exchange(self, call: _Call) -> tuple[Response, http.Stream | None]:
        """Send; when the token is refused, once more with the token read again."""
        authorization = self._credentials.header()
        response, stream = self._transmit(call, authorization)
        if response.status != 401:
            return response, stream
        self._credentials.renew(refused=authorization)
        return self._transmit(call, self._credentials.header())

    def _transmit(
        self, call: _Call, authorization: str | None
    ) -> tuple[Response, http.Stream | None]:
        code = 0
        timeouts = Timeouts(CONNECT_TIMEOUT_SECONDS, call.read_seconds)
        try:
            request = call.request(authorization)
            answer = self._pool.exchange(request, timeouts, call.is_stream, call.max_bytes)
            code = answer[0].status
            return answer
        except TimeoutError as error:  # connected, so somebody is there
            raise Transient(f"{call.method} {call.url}: {error}") from error
        except NETWORK_ERRORS as error:
            raise Unreachable(f"{call.method} {call.url}: {error}") from error
        finally:
            self._metrics.requested(code, call.method, self._host)


class Stream:
    """The events of an answer that does not end by itself, in lines of JSON or in protobuf.

    One thread reads and releases; any other may close, which ends the reading at once.
    """

    def __init__(self, stream: http.Stream, is_protobuf: bool) -> None:
        self._stream = stream
        self.is_protobuf = is_protobuf

    def events(self) -> Iterator[Raw]:
        """Every event as it comes; ends with the answer. Raises Transient when it breaks.

        Silent where nothing has come for the read timeout.
        """
        chunks = self._stream.chunks()
        try:
            if self.is_protobuf:
                yield from map(protobuf.decode_event, protobuf.split_frames(chunks))
            else:
                yield from map(parse_json, _split_lines(chunks))
        except TimeoutError as error:
            raise Silent(f"nothing came: {error}") from error
        except NETWORK_ERRORS as error:
            raise Transient(f"the stream broke: {error}") from error

    def close(self) -> None:
        """End the reading."""
        self._stream.close()

    def release(self) -> None:
        """Give the connection up; for the reader, when it is done."""
        self._stream.release()


def _split_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Every line that is ended and not empty."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from filter(None, lines)


def _encode(body: Raw) -> bytes:
    try:
        return orjson.dumps(body, option=orjson.OPT_NON_STR_KEYS)  # enumerations are keys, too
    except TypeError as error:  # nested deeper than orjson writes
        raise Invalid(f"the object cannot be sent: {error}") from error


def _is_protobuf(response: Response) -> bool:
    return response.headers.get("content-type", "").startswith(protobuf.MEDIA_TYPE)


def _decode(response: Response) -> Raw:
    read = protobuf.decode if _is_protobuf(response) else parse_json
    return read(response.body)


def _error_from(response: Response) -> ApiError:
    try:
        status = _decode(response)
    except Transient:
        status = {}
    return error_from_status(response.status, status, _retry_after(response))


def _retry_after(response: Response) -> float | None:
    text = response.headers.get("retry-after", "")
    return float(text) if text.isdecimal() else None
