"""The API server, as raw objects over HTTP. The only module that imports `kubernetes`.

The package reads the configuration: the server, TLS, proxies and credentials. Requests do not go
through it: its request layer takes three times the CPU, repeats writes on its own and guesses
content types.

Always: every call has a connect and a read timeout; nothing is retried here, but a request whose
token was refused, once, with the token read again; every failure is an `errors.ApiError`. Any
thread may call; the threads of one client share its connections.
"""

import os
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import orjson
from kubernetes.client.configuration import Configuration
from kubernetes.client.rest import should_bypass_proxies
from kubernetes.config import incluster_config, kube_config
from kubernetes.utils.keepalive import tcp_keepalive_socket_options

from api.objects import Raw
from controller import http1, protobuf
from controller.clock import Clock
from controller.errors import ApiError, NotLeader, Transient, error_from_status
from controller.http1 import Endpoint, Pool, Request, Response, Timeouts
from metrics import Metrics

USER_AGENT = "paddlejob-operator"
CONNECT_TIMEOUT_SECONDS = 3.0
READ_TIMEOUT_SECONDS = 10.0
LIST_READ_TIMEOUT_SECONDS = 60.0
TOKEN_PERIOD_SECONDS = 60.0
"""A mounted token is replaced by the kubelet long before it expires; read it this often."""
MERGE_PATCH = "application/merge-patch+json"
JSON = "application/json"
METADATA_ONLY = f"{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,{JSON}"
"""Of what is written only names and versions are of interest in the answer, and a pod is large."""
_ENVIRONMENT_HOST = incluster_config.SERVICE_HOST_ENV_NAME

Query = dict[str, str | int]
UNCHECKED: Query = {"fieldValidation": "Ignore"}
"""Nobody reads the warnings about unknown fields, and looking for them is a tenth of a create."""


class ConfigurationError(Exception):
    """There is no usable way to an API server."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the API server is and who we are; every client makes its own pool from it."""

    configuration: Configuration
    credentials: "Credentials"


class Credentials:
    """The Authorization header, read again when it has aged or was refused.

    A read that fails keeps the last header: the file may be empty for a moment while it is
    replaced.
    """

    def __init__(self, read: Callable[[], str | None], period_seconds: float, clock: Clock) -> None:
        self._read = read
        self._period = period_seconds
        self._clock = clock
        self._lock = threading.Lock()
        """Guards _header and _read_at."""
        self._header = read()
        self._read_at = clock.monotonic()

    def header(self) -> str | None:
        """The header's value; None where the connection itself proves who we are."""
        with self._lock:
            if self._clock.monotonic() - self._read_at >= self._period:
                self._read_again_locked()
            return self._header

    def renew(self, refused: str | None) -> None:
        """Read again, unless another thread already has since this one was in use."""
        with self._lock:
            if self._header == refused:
                self._read_again_locked()

    def _read_again_locked(self) -> None:
        self._read_at = self._clock.monotonic()
        try:
            self._header = self._read() or self._header
        except Exception:  # the loaders raise many kinds; the request will tell what is wrong
            return


def load_connection(kubeconfig: str | None, clock: Clock) -> Connection:
    """From a kubeconfig file, else from the pod's environment, else from ~/.kube/config.

    Raises ConfigurationError with one line that says what is wrong.
    """
    is_inside = not kubeconfig and bool(os.environ.get(_ENVIRONMENT_HOST))
    path = kubeconfig or kube_config.KUBE_CONFIG_DEFAULT_LOCATION
    try:
        return _load_in_cluster(clock) if is_inside else _load_kubeconfig(path, clock)
    except Exception as error:
        way = "the pod's service account" if is_inside else f"the kubeconfig {path}"
        raise ConfigurationError(f"no connection to a cluster by {way}: {error}") from error


def _load_in_cluster(clock: Clock) -> Connection:
    configuration = Configuration()
    loader = incluster_config.InClusterConfigLoader(  # type: ignore[no-untyped-call]
        token_filename=incluster_config.SERVICE_TOKEN_FILENAME,
        cert_filename=incluster_config.SERVICE_CERT_FILENAME,
        try_refresh_token=False,
    )
    loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
    # A proxy of the environment is for the world outside; the service address is inside.
    configuration.proxy = None
    token = Path(incluster_config.SERVICE_TOKEN_FILENAME)
    credentials = Credentials(lambda: _read_token(token), TOKEN_PERIOD_SECONDS, clock)
    return Connection(configuration, credentials)


def _load_kubeconfig(path: str, clock: Clock) -> Connection:
    configuration = _read_kubeconfig(path)

    def read() -> str | None:
        header = _read_kubeconfig(path).get_api_key_with_prefix("BearerToken")
        return str(header) if header else None

    # Without a period: a credential plugin may take seconds, so it runs when a token is refused.
    return Connection(configuration, Credentials(read, float("inf"), clock))


def _read_kubeconfig(path: str) -> Configuration:
    configuration = Configuration()
    kube_config.load_kube_config(  # type: ignore[no-untyped-call]
        path, client_configuration=configuration
    )
    return configuration


def _read_token(path: Path) -> str | None:
    token = path.read_text().strip()
    return f"Bearer {token}" if token else None


@dataclass(frozen=True, slots=True)
class _Call:
    method: str
    url: str
    read_seconds: float
    body: bytes | None = None
    content_type: str = JSON
    accept: str = JSON
    is_stream: bool = False

    def request(self, authorization: str | None) -> Request:
        headers = {"Accept": self.accept, "User-Agent": USER_AGENT}
        if self.body is not None:
            headers["Content-Type"] = self.content_type
        if authorization:
            headers["Authorization"] = authorization
        return Request(self.method, self.url, headers, self.body)


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
        endpoint = _build_endpoint(connection.configuration)
        self._pool = Pool(endpoint, pool_size)
        self._prefix = urlsplit(connection.configuration.host).path.rstrip("/")
        self._host = endpoint.authority
        self._credentials = connection.credentials
        self._metrics = metrics.client
        self._write_seconds = write_seconds
        self._read_timeout = read_timeout_seconds

    def get(self, path: str, query: Query | None = None, accept: str = JSON) -> Raw:
        """One object, or one page of a list; `accept` says in which encodings it may come."""
        read_timeout = LIST_READ_TIMEOUT_SECONDS if query else self._read_timeout
        return self._read(_Call("GET", self._url(path, query), read_timeout, accept=accept))

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
        """An answer without an end, event by event; the caller releases it."""
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
        allowed_seconds = self._write_seconds()
        if allowed_seconds <= 0:
            raise NotLeader(f"{method} {url} not sent: the lease has run out")
        payload = orjson.dumps(body, option=orjson.OPT_NON_STR_KEYS)  # enumerations are keys, too
        seconds = min(self._read_timeout, allowed_seconds)
        return self._read(_Call(method, url, seconds, payload, content_type, accept))

    def _url(self, path: str, query: Query | None = None) -> str:
        return f"{self._prefix}{path}?{urlencode(query)}" if query else self._prefix + path

    def _read(self, call: _Call) -> Raw:
        response, _ = self._exchange(call)
        if response.status >= 300:
            raise _error_from(response)
        return _decode(response)

    def _exchange(self, call: _Call) -> tuple[Response, http1.Stream | None]:
        """Send; when the token is refused, once more with the token read again."""
        authorization = self._credentials.header()
        response, stream = self._transmit(call, authorization)
        if response.status != 401:
            return response, stream
        self._credentials.renew(refused=authorization)
        return self._transmit(call, self._credentials.header())

    def _transmit(
        self, call: _Call, authorization: str | None
    ) -> tuple[Response, http1.Stream | None]:
        code = 0
        timeouts = Timeouts(CONNECT_TIMEOUT_SECONDS, call.read_seconds)
        try:
            answer = self._pool.exchange(call.request(authorization), timeouts, call.is_stream)
            code = answer[0].status
            return answer
        except _NETWORK_ERRORS as error:
            raise Transient(f"{call.method} {call.url}: {error}") from error
        finally:
            self._metrics.requested(code, call.method, self._host)


_NETWORK_ERRORS = (OSError, ValueError)
"""OSError: sockets, TLS, timeouts and broken HTTP. ValueError: a token that no header may hold."""


class Stream:
    """The events of an answer that does not end by itself, in lines of JSON or in protobuf.

    One thread reads and releases; any other may close, which ends the reading at once.
    """

    def __init__(self, stream: http1.Stream, is_protobuf: bool) -> None:
        self._stream = stream
        self.is_protobuf = is_protobuf

    def events(self, before_wait: Callable[[], None] = lambda: None) -> Iterator[Raw]:
        """Every event as it comes; ends with the answer. Raises Transient when it breaks.

        `before_wait` is called when there is no event that could be had at once.
        """
        chunks = self._stream.chunks(before_wait)
        try:
            if self.is_protobuf:
                yield from map(protobuf.decode_event, protobuf.split_frames(chunks))
            else:
                yield from map(parse_json, _split_lines(chunks))
        except _NETWORK_ERRORS as error:
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


def _build_endpoint(configuration: Configuration) -> Endpoint:
    base = urlsplit(configuration.host)
    is_tls = base.scheme == "https"
    return Endpoint(
        host=base.hostname or "",
        port=base.port or (443 if is_tls else 80),
        tls=_build_tls(configuration) if is_tls else None,
        tls_server_name=configuration.tls_server_name or "",
        proxy=_proxy_for(configuration),
        socket_options=tuple(tcp_keepalive_socket_options()),
    )


def _build_tls(configuration: Configuration) -> ssl.SSLContext:
    # Not create_default_context: newer Pythons make it refuse authorities that kubeadm made.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif configuration.ssl_ca_cert or configuration.ca_cert_data:
        context.load_verify_locations(
            cafile=configuration.ssl_ca_cert, cadata=configuration.ca_cert_data
        )
    else:
        context.load_default_certs()
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    return context


def _proxy_for(configuration: Configuration) -> str:
    bypassed = should_bypass_proxies(configuration.host, configuration.no_proxy or "")
    return "" if bypassed or not configuration.proxy else str(configuration.proxy)


def parse_json(data: bytes) -> Raw:
    """A JSON object. Raises Transient on anything else: a proxy may have answered instead."""
    try:
        value: Any = orjson.loads(data)
    except ValueError as error:
        raise Transient(f"the answer is no JSON: {data[:100]!r}") from error
    if not isinstance(value, dict):
        raise Transient(f"the answer is no JSON object: {data[:100]!r}")
    return value


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
