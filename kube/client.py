"""Requests to an API server as raw objects, on a pool of connections.

Every request has a connect and a read timeout, and every failure is an `errors.ApiError`. Nothing
is retried here, with one exception: when the credentials are refused, they are reloaded and the
request is sent a second time. Thread-safe: all threads share the connections of a client.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import urlencode

from api.objects import Raw
from kube.clock import Clock
from kube.errors import (
    ApiError,
    NotFound,
    Silent,
    TooLarge,
    Transient,
    Unreachable,
    error_from_status,
)
from kube.http import NETWORK_ERRORS, Endpoint, Pool, Request, Response, Stream, Timeouts
from kube.parsing import dump_json, parse_json

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
ANYTHING = "*/*"
PAGE = 500
"""Objects in one page of a list."""

Query = dict[str, Any]
STRICT: Query = {"fieldValidation": "Strict"}
"""The query of a write: an unknown field is an error."""


class Credentials(Protocol):
    """The credentials of this client: an Authorization header, or a certificate of the endpoint's
    TLS context.
    """

    def header(self) -> str | None:
        """The header's value; None if there is none, for example with a client certificate."""

    def renew(self, refused: str | None) -> None:
        """Read the credentials again, because the API server has refused this header."""


@dataclass(frozen=True, slots=True)
class Connection:
    """The API server's endpoint and this client's credentials; `prefix` goes before every path."""

    endpoint: Endpoint
    credentials: Credentials
    prefix: str = ""
    clock: Clock = field(default_factory=Clock)


class Client:
    """Sends requests over a pool that keeps up to `pool_size` idle connections."""

    def __init__(
        self, connection: Connection, pool_size: int, agent: str, timeouts: Timeouts
    ) -> None:
        self._pool = Pool(connection.endpoint, pool_size, connection.clock)
        self._prefix = connection.prefix
        self._host = connection.endpoint.authority
        self._credentials = connection.credentials
        self._clock = connection.clock
        self._agent = agent
        self._timeouts = timeouts
        self._list_seconds = timeouts.read
        """The read timeout of a `get` with a query."""
        self._requested: Callable[[int, str, str], None] = lambda *_: None
        """Called with code, method and host for every request; code 0 means no answer."""

    def get(
        self,
        path: str,
        query: Query | None = None,
        accept: str = JSON,
        max_bytes: int | None = None,
    ) -> Raw:
        """One object, or one page of a list. Raises TooLarge if it is longer than `max_bytes`."""
        request = Request("GET", self._url(path, query), self._headers(accept))
        seconds = self._list_seconds if query else self._timeouts.read
        response = self._send(request, seconds, max_bytes=max_bytes)
        if response.is_cut:
            raise TooLarge(f"{request.target}: more than {max_bytes} bytes")
        return self._decode(response)

    def find(self, path: str) -> Raw | None:
        """The object, or None if the API server says that it does not exist."""
        try:
            return self.get(path)
        except NotFound:
            return None

    def list(self, path: str, query: Query | None = None) -> tuple[list[Raw], str]:
        """All objects of a collection, page by page, and the version of the list."""
        pages = [*self.pages(path, query or {})]
        items = [each for page in pages for each in page.get("items") or ()]
        return items, version_of(pages[-1])

    def pages(
        self,
        path: str,
        query: Query,
        limit: int = PAGE,
        max_bytes: int | None = None,
        accept: str = JSON,
    ) -> Iterator[Raw]:
        """The pages of a collection, each with `limit` objects; with 0, all are in one.

        A page of more than `max_bytes` is read again with half as many objects. Only a page of one
        object, or the one of all, can be larger.
        """
        usual = limit
        while True:
            most = max_bytes if limit > 1 else None
            try:
                page = self.get(path, query | {"limit": limit}, accept, most)
            except TooLarge:
                limit //= 2
                continue
            yield page
            token = (page.get("metadata") or {}).get("continue")
            if not token:
                return
            query = query | {"continue": str(token)}
            limit = min(2 * limit, usual)

    def text(self, path: str, query: Query | None = None) -> str:
        """An answer that is not JSON, such as a log."""
        request = Request("GET", self._url(path, query), self._headers(ANYTHING))
        return self._send(request, self._timeouts.read).body.decode(errors="replace")

    def stream(
        self, path: str, query: Query, read_seconds: float, accept: str = ANYTHING
    ) -> Stream:
        """A streamed answer: a watch (see `read_events`) or a log. The caller must release it."""
        request = Request("GET", self._url(path, query), self._headers(accept))
        response = self._send(request, read_seconds, is_stream=True)
        if response.stream is None:
            raise Transient(f"{request.target}: answered with {response.status}, not with a stream")
        return response.stream

    def read_log(self, path: str, query: Query, seconds: float) -> bytes:
        """The log, not followed, to the first piece beyond the query's `limitBytes`: some virtual
        kubelets ignore it. Raises Silent if reading takes longer than `seconds`.
        """
        started, stream = self._clock.monotonic(), self.stream(path, query, seconds)
        log = bytearray()
        try:
            for chunk in read_parts(stream, iter):
                log += chunk
                if len(log) > query.get("limitBytes", math.inf):
                    break
                if self._clock.monotonic() - started > seconds:
                    raise Silent(f"{path}: not all of the log in {seconds} s")
        finally:
            stream.release(is_short=True)
        return bytes(log)

    def create(self, path: str, body: Raw, query: Query | None = None) -> Raw:
        """POST to a collection; returns the object as the API server created it."""
        return self._decode(self.send("POST", self._url(path, query), dump_json(body)))

    def replace(self, path: str, body: Raw) -> Raw:
        """PUT a whole object. Raises Conflict if it has a resourceVersion that is not current."""
        return self._decode(self.send("PUT", self._url(path), dump_json(body)))

    def patch(self, path: str, body: Raw, content_type: str = STRATEGIC_MERGE_PATCH) -> Raw:
        """Apply a patch of this content type; returns the patched object."""
        return self._decode(self.send("PATCH", self._url(path), dump_json(body), content_type))

    def merge_patch(self, path: str, body: Raw) -> Raw:
        """Apply a JSON merge patch (RFC 7386); returns the patched object."""
        return self.patch(path, body, MERGE_PATCH)

    def delete(self, path: str, uid: str | None = None, grace_seconds: int | None = None) -> Raw:
        """Delete an object, its dependents later. With `uid`, raises Conflict for another UID."""
        options: Raw = {"propagationPolicy": "Background"}
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        return self._decode(self.send("DELETE", self._url(path), dump_json(options)))

    def send(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        content_type: str = JSON,
        accept: str = JSON,
    ) -> Response:
        """Send any request. The target must include the prefix and the query."""
        self._allowed_seconds()  # also before connecting: raises if no write is allowed
        headers = {**self._headers(accept), "Content-Type": content_type}
        request = Request(method, target, headers, body, self._allowed_seconds)
        return self._send(request, self._timeouts.read)

    def close(self) -> None:
        """Close the idle connections."""
        self._pool.close()

    def _allowed_seconds(self) -> float:
        """How many seconds a write can take; raises ApiError if no write is allowed now."""
        return math.inf

    def _decode(self, response: Response) -> Raw:
        return parse_json(response.body)

    def _headers(self, accept: str) -> dict[str, str]:
        return {"Accept": accept, "User-Agent": self._agent}

    def _url(self, path: str, query: Query | None = None) -> str:
        return f"{self._prefix}{path}?{urlencode(query)}" if query else self._prefix + path

    def _send(
        self,
        request: Request,
        read_seconds: float,
        is_stream: bool = False,
        max_bytes: int | None = None,
    ) -> Response:
        """Send; if the credentials are refused, reload them and send a second time."""
        timeouts = Timeouts(self._timeouts.connect, read_seconds)
        exchange = partial(
            self._pool.exchange, timeouts=timeouts, is_stream=is_stream, max_bytes=max_bytes
        )
        authorization = self._credentials.header()
        response = self._transmit(exchange, request, authorization)
        if response.status == HTTPStatus.UNAUTHORIZED:
            self._credentials.renew(refused=authorization)
            if authorization is None:  # they were opened with the certificate that is refused
                self._pool.close_idle()
            response = self._transmit(exchange, request, self._credentials.header())
        if response.status >= 300:
            raise self._error_from(response)
        return response

    def _transmit(
        self, exchange: Callable[[Request], Response], request: Request, authorization: str | None
    ) -> Response:
        code, started = 0, self._clock.monotonic()
        if authorization:
            headers = {**request.headers, "Authorization": authorization}
            request = replace(request, headers=headers)
        try:
            response = exchange(request)
            code = response.status
            if code < 300:  # an error can be a proxy's, with the proxy's time
                self._clock.compare(response.headers.get("date", ""), started)
            return response
        except TimeoutError as error:  # connected: a connect timeout is a ConnectionError
            target = f"{request.method} {request.target}"
            raise Transient(f"no answer from {self._host} to {target}: {error}") from error
        except NETWORK_ERRORS as error:
            raise Unreachable(f"no answer from the API server {self._host}: {error}") from error
        finally:
            self._requested(code, request.method, self._host)

    def _error_from(self, response: Response) -> ApiError:
        try:
            status = self._decode(response)
        except Transient:
            status = {}
        wait = response.headers.get("retry-after", "")
        seconds = float(wait) if wait.isdecimal() else None
        return error_from_status(response.status, status, seconds)


def is_served(client: Client, api_version: str, plural: str) -> bool:
    """Whether the API server serves this kind. Raises ApiError if the server does not answer.

    For a kind that is not served, the API server returns `404 page not found` in plain text, as a
    proxy without a backend does. So we ask discovery, which returns objects.
    """

    def ask(path: str, kind: str) -> Raw:
        answer = client.get(path)
        if answer.get("kind") != kind:
            raise Transient(f"{path} is no {kind}")
        return answer

    if "/" not in api_version:
        return True  # every API server has the core group
    groups = ask("/apis", "APIGroupList").get("groups") or ()
    versions = {each["groupVersion"] for group in groups for each in group["versions"]}
    if api_version not in versions:
        return False
    kinds = ask(f"/apis/{api_version}", "APIResourceList").get("resources") or ()
    return any(kind["name"] == plural for kind in kinds)


def version_of(obj: Any) -> str:
    """The version of an object or a list; empty if it has none."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    return str(metadata.get("resourceVersion") or "") if isinstance(metadata, dict) else ""


def read_events(stream: Stream) -> Iterator[Raw]:
    """The events of a JSON watch as they come; raises as `read_parts` does."""
    return map(parse_json, read_parts(stream, split_lines))


def read_parts(
    stream: Stream, split: Callable[[Iterable[bytes]], Iterator[bytes]]
) -> Iterator[bytes]:
    """The stream's bytes as they come, divided into parts by `split`, until the answer ends.

    Raises Transient if the stream breaks, Silent if nothing comes within the read timeout.
    """
    try:
        yield from split(stream.chunks())
    except TimeoutError as error:
        raise Silent(f"nothing came: {error}") from error
    except NETWORK_ERRORS as error:
        raise Transient(f"the stream broke: {error}") from error


def split_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Every complete line that is not empty. A line in many chunks is copied only one time."""
    begun: list[bytes] = []
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        begun.append(first)
        if others:
            *whole, rest = others
            yield from filter(None, (b"".join(begun), *whole))
            begun = [rest]
