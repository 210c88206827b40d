"""The API server, as raw JSON over HTTP. The only module that imports `kubernetes`.

The package reads the configuration and sets up TLS, proxies and credentials. Requests go straight
to its connection pool: its own request layer would cost 60 % more CPU for a write (0.48 ms
against 0.30 ms for a pod over TLS), repeat writes on its own and guess content types.

Always: every call has a connect and a read timeout; nothing is retried here, but a request whose
token was refused, once, with the token read again; every failure is an `errors.ApiError`. Any
thread may call; the threads of one client share its connections.
"""

import copy
import json
import os
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import urllib3
from kubernetes import client as kubernetes_client
from kubernetes.config import incluster_config, kube_config

from api.objects import Raw
from controller.clock import Clock
from controller.errors import ApiError, NotLeader, Transient, error_from_status
from metrics import Metrics

USER_AGENT = "paddlejob-operator"
CONNECT_TIMEOUT_SECONDS = 3.0
READ_TIMEOUT_SECONDS = 10.0
LIST_READ_TIMEOUT_SECONDS = 60.0
TOKEN_PERIOD_SECONDS = 60.0
"""A mounted token is replaced by the kubelet long before it expires; read it this often."""
MERGE_PATCH = "application/merge-patch+json"
JSON = "application/json"
_READ_BYTES = 1 << 16
_ENVIRONMENT_HOST = incluster_config.SERVICE_HOST_ENV_NAME

Query = dict[str, str | int]


class ConfigurationError(Exception):
    """There is no usable way to an API server."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the API server is and who we are; every client makes its own pool from it."""

    configuration: kubernetes_client.Configuration
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
    try:
        if not kubeconfig and os.environ.get(_ENVIRONMENT_HOST):
            return _load_in_cluster(clock)
        return _load_kubeconfig(kubeconfig or kube_config.KUBE_CONFIG_DEFAULT_LOCATION, clock)
    except Exception as error:
        raise ConfigurationError(f"no connection to a cluster: {error}") from error


def _load_in_cluster(clock: Clock) -> Connection:
    configuration = _new_configuration()
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


def _new_configuration() -> kubernetes_client.Configuration:
    configuration = kubernetes_client.Configuration()
    configuration.retries = False
    configuration.keep_alive = True
    return configuration


def _read_kubeconfig(path: str) -> kubernetes_client.Configuration:
    configuration = _new_configuration()
    kube_config.load_kube_config(  # type: ignore[no-untyped-call]
        path, client_configuration=configuration
    )
    return configuration


def _read_token(path: Path) -> str | None:
    token = path.read_text().strip()
    return f"Bearer {token}" if token else None


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    url: str
    body: bytes | None = None
    content_type: str = JSON

    def headers(self, authorization: str | None) -> dict[str, str]:
        headers = {"Accept": JSON, "User-Agent": USER_AGENT}
        if self.body is not None:
            headers["Content-Type"] = self.content_type
        if authorization:
            headers["Authorization"] = authorization
        return headers


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
        configuration = copy.deepcopy(connection.configuration)
        configuration.connection_pool_maxsize = pool_size
        self._manager: urllib3.PoolManager = kubernetes_client.ApiClient(
            configuration
        ).rest_client.pool_manager
        base = urlsplit(configuration.host)
        self._pool = self._manager.connection_from_url(configuration.host)
        self._prefix = base.path.rstrip("/")
        self._host = base.netloc
        self._credentials = connection.credentials
        self._metrics = metrics.client
        self._write_seconds = write_seconds
        self._read_timeout = read_timeout_seconds

    def get(self, path: str, query: Query | None = None) -> Raw:
        """One object, or one page of a list."""
        read_timeout = LIST_READ_TIMEOUT_SECONDS if query else self._read_timeout
        return self._call(_Request("GET", self._url(path, query)), read_timeout)

    def create(self, path: str, body: Raw) -> Raw:
        """POST to a collection; the object as the API server made it."""
        return self._write("POST", path, body)

    def replace(self, path: str, body: Raw) -> Raw:
        """PUT a whole object. With a resourceVersion in it, only over that version."""
        return self._write("PUT", path, body)

    def merge_patch(self, path: str, body: Raw) -> Raw:
        """Apply a JSON merge patch (RFC 7386)."""
        return self._write("PATCH", path, body, MERGE_PATCH)

    def delete(self, path: str, uid: str, grace_seconds: int | None = None) -> Raw:
        """Delete, only if the object still has this UID; its dependents follow by themselves."""
        options: Raw = {"preconditions": {"uid": uid}, "propagationPolicy": "Background"}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        return self._write("DELETE", path, options)

    def stream(self, path: str, query: Query, read_timeout_seconds: float) -> "Stream":
        """An answer without an end, line by line; the caller closes it."""
        request = _Request("GET", self._url(path, query))
        response = self._send(request, read_timeout_seconds, preload=False)
        if response.status >= 400:
            raise _error_from(response)
        return Stream(response)

    def close(self) -> None:
        """Close the connections that lie idle."""
        self._manager.clear()

    def _write(self, method: str, path: str, body: Raw, content_type: str = JSON) -> Raw:
        allowed_seconds = self._write_seconds()
        if allowed_seconds <= 0:
            raise NotLeader(f"{method} {path} not sent: the lease has run out")
        payload = json.dumps(body, separators=(",", ":")).encode()
        request = _Request(method, self._url(path), payload, content_type)
        return self._call(request, min(self._read_timeout, allowed_seconds))

    def _url(self, path: str, query: Query | None = None) -> str:
        return f"{self._prefix}{path}?{urlencode(query)}" if query else self._prefix + path

    def _call(self, request: _Request, read_timeout_seconds: float) -> Raw:
        response = self._send(request, read_timeout_seconds, preload=True)
        if response.status >= 300:
            raise _error_from(response)
        return parse_json(response.data)

    def _send(
        self, request: _Request, read_timeout_seconds: float, preload: bool
    ) -> urllib3.BaseHTTPResponse:
        authorization = self._credentials.header()
        timeout = urllib3.Timeout(connect=CONNECT_TIMEOUT_SECONDS, read=read_timeout_seconds)
        response = self._transmit(request, authorization, timeout, preload)
        if response.status != 401:
            return response
        response.drain_conn()
        self._credentials.renew(refused=authorization)
        return self._transmit(request, self._credentials.header(), timeout, preload)

    def _transmit(
        self,
        request: _Request,
        authorization: str | None,
        timeout: urllib3.Timeout,
        preload: bool,
    ) -> urllib3.BaseHTTPResponse:
        code = 0
        try:
            response = self._pool.urlopen(
                request.method,
                request.url,
                body=request.body,
                headers=request.headers(authorization),
                timeout=timeout,
                retries=False,
                redirect=False,
                preload_content=preload,
            )
            code = response.status
            return response
        except _NETWORK_ERRORS as error:
            raise Transient(f"{request.method} {request.url}: {error}") from error
        finally:
            self._metrics.requested(code, request.method, self._host)


class Stream:
    """The lines of an answer that does not end by itself.

    One thread reads; any other may close, which ends the reading at once.
    """

    def __init__(self, response: urllib3.BaseHTTPResponse) -> None:
        self._response = response
        self._is_closed = False

    def lines(self) -> Iterator[bytes]:
        """Every line as it comes; ends with the answer. Raises Transient when it breaks."""
        rest = b""
        while chunk := self._read():
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines

    def close(self) -> None:
        """End the reading and give the connection up."""
        self._is_closed = True
        try:
            self._response.shutdown()
        except (OSError, RuntimeError, ValueError):
            return  # already ended by the server, or being closed by the reader

    def release(self) -> None:
        """Free the connection; for the reader, when it is done."""
        self._response.close()

    def _read(self) -> bytes:
        try:
            return self._response.read1(_READ_BYTES)
        except (*_NETWORK_ERRORS, AttributeError) as error:
            # A TLS connection that another thread shuts down has no SSL object any more.
            if self._is_closed:
                return b""
            raise Transient(f"the stream broke: {error}") from error


_NETWORK_ERRORS = (urllib3.exceptions.HTTPError, ssl.SSLError, OSError, ValueError)
"""ValueError: a token that no header may hold, an answer that is no HTTP."""


def parse_json(data: bytes) -> Raw:
    """A JSON object. Raises Transient on anything else: a proxy may have answered instead."""
    try:
        value: Any = json.loads(data)
    except ValueError as error:
        raise Transient(f"the answer is no JSON: {data[:100]!r}") from error
    if not isinstance(value, dict):
        raise Transient(f"the answer is no JSON object: {data[:100]!r}")
    return value


def _error_from(response: urllib3.BaseHTTPResponse) -> ApiError:
    try:
        status = parse_json(response.data or b"")
    except (Transient, *_NETWORK_ERRORS):
        status = {}
    return error_from_status(response.status, status, _retry_after(response))


def _retry_after(response: urllib3.BaseHTTPResponse) -> float | None:
    text = response.headers.get("Retry-After")
    return float(text) if text and text.isdecimal() else None
