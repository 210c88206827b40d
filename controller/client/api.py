"""The API server, as raw objects over HTTP.

Always: every call has a connect and a read timeout, and every failure is an `errors.ApiError`.
Nothing is retried here, with one exception: when a token is refused, it is read again and the
request is sent once more. Any thread may call; the threads of one client share its connections.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from urllib.parse import urlencode

import orjson

from api.objects import Raw
from controller.client import protobuf
from controller.client.connection import Connection
from kube.errors import (
    ApiError,
    Invalid,
    NotLeader,
    Silent,
    TooLarge,
    Transient,
    Unreachable,
    error_from_status,
)
from kube.http import NETWORK_ERRORS, Pool, Request, Response, Stream, Timeouts
from kube.parsing import parse_json
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
_Answer = tuple[Response, Stream | None]
UNCHECKED: Query = {"fieldValidation": "Ignore"}
"""Nobody reads warnings about unknown fields, and looking for them takes a tenth of a create."""


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
        request = Request("GET", self._url(path, query), _headers(accept))
        response, _ = self._send(request, seconds, max_bytes=max_bytes)
        if response.is_cut:
            raise TooLarge(f"{request.target}: more than {max_bytes} bytes")
        return _decode(response)

    def create(self, path: str, body: Raw) -> Raw:
        """POST to a collection; the metadata of the object as the API server made it."""
        return self._write("POST", self._url(path, UNCHECKED), body, accept=METADATA_ONLY)

    def ask(self, path: str, body: Raw) -> Raw:
        """POST a question, such as a TokenReview; the whole answer. Nothing is stored by it."""
        return self._write("POST", self._url(path), body)

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
    ) -> Stream:
        """An answer that goes on; `read_events` reads it, and the caller releases it."""
        request = Request("GET", self._url(path, query), _headers(accept))
        response, stream = self._send(request, read_timeout_seconds, is_stream=True)
        if stream is None:
            raise Transient(f"{request.target}: {response.status} is no stream")
        return stream

    def close(self) -> None:
        """Close the connections that lie idle."""
        self._pool.close()

    def _write(
        self, method: str, url: str, body: Raw, content_type: str = JSON, accept: str = JSON
    ) -> Raw:
        def allowed_seconds() -> float:
            seconds = self._write_seconds()
            if seconds <= 0:
                raise NotLeader(f"{method} {url} not sent: the lease has run out")
            return seconds

        allowed_seconds()  # not even a connection, then
        headers = {**_headers(accept), "Content-Type": content_type}
        request = Request(method, url, headers, _encode(body), allowed_seconds)
        return _decode(self._send(request, self._read_timeout)[0])

    def _url(self, path: str, query: Query | None = None) -> str:
        return f"{self._prefix}{path}?{urlencode(query)}" if query else self._prefix + path

    def _send(
        self,
        request: Request,
        read_seconds: float,
        is_stream: bool = False,
        max_bytes: int | None = None,
    ) -> _Answer:
        """A success; with the token read again, and the request sent again, where it is refused."""
        timeouts = Timeouts(CONNECT_TIMEOUT_SECONDS, read_seconds)
        exchange = partial(
            self._pool.exchange, timeouts=timeouts, is_stream=is_stream, max_bytes=max_bytes
        )
        authorization = self._credentials.header()
        response, stream = self._transmit(exchange, request, authorization)
        if response.status == HTTPStatus.UNAUTHORIZED:
            self._credentials.renew(refused=authorization)
            response, stream = self._transmit(exchange, request, self._credentials.header())
        if response.status >= 300:
            raise _error_from(response)
        return response, stream

    def _transmit(
        self, exchange: Callable[[Request], _Answer], request: Request, authorization: str | None
    ) -> _Answer:
        code = 0
        if authorization:
            headers = {**request.headers, "Authorization": authorization}
            request = replace(request, headers=headers)
        try:
            answer = exchange(request)
            code = answer[0].status
            return answer
        except TimeoutError as error:  # connected, so somebody is there
            raise Transient(f"{request.method} {request.target}: {error}") from error
        except NETWORK_ERRORS as error:
            raise Unreachable(f"{request.method} {request.target}: {error}") from error
        finally:
            self._metrics.requested(code, request.method, self._host)


def read_events(stream: Stream) -> Iterator[Raw]:
    """Every event as it comes, in lines of JSON or in protobuf; ends with the answer.

    Raises Transient when it breaks, Silent where nothing has come for the read timeout.
    """
    chunks = stream.chunks()
    try:
        if _is_protobuf(stream.headers):
            yield from map(protobuf.decode_event, protobuf.split_frames(chunks))
        else:
            yield from map(parse_json, _split_lines(chunks))
    except TimeoutError as error:
        raise Silent(f"nothing came: {error}") from error
    except NETWORK_ERRORS as error:
        raise Transient(f"the stream broke: {error}") from error


def _split_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Every line that is ended and not empty; one of a megabyte comes in a hundred chunks."""
    begun: list[bytes] = []
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        begun.append(first)
        if others:
            *whole, rest = others
            yield from filter(None, (b"".join(begun), *whole))
            begun = [rest]


def _encode(body: Raw) -> bytes:
    try:
        return orjson.dumps(body, option=orjson.OPT_NON_STR_KEYS)  # enumerations are keys, too
    except TypeError as error:  # nested deeper than orjson writes
        raise Invalid(f"the object cannot be sent: {error}") from error


def _headers(accept: str) -> dict[str, str]:
    return {"Accept": accept, "User-Agent": USER_AGENT}


def _is_protobuf(headers: dict[str, str]) -> bool:
    return headers.get("content-type", "").startswith(protobuf.MEDIA_TYPE)


def _decode(response: Response) -> Raw:
    read = protobuf.decode if _is_protobuf(response.headers) else parse_json
    return read(response.body)


def _error_from(response: Response) -> ApiError:
    try:
        status = _decode(response)
    except Transient:
        status = {}
    wait = response.headers.get("retry-after", "")
    return error_from_status(response.status, status, float(wait) if wait.isdecimal() else None)
