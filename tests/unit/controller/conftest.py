"""Fixtures of the controller's tests. A thread that a test leaves behind fails it."""

import ssl
import threading
from collections.abc import Callable, Iterator

import pytest
import structlog
from kubernetes.client import Configuration

from controller.client.api import ApiClient
from controller.client.connection import Credentials, build_connection
from localcluster.client.pki import Authority
from metrics import Metrics
from tests.unit.controller.fakes import ScriptedServer, SteppedClock, ended, eventually, reply
from tests.unit.controller.memory_api import MemoryApi


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield

    def left() -> list[threading.Thread]:
        return [t for t in threading.enumerate() if t not in before and t.is_alive()]

    eventually(lambda: not left(), f"end of the threads {left()}")


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def log() -> structlog.typing.FilteringBoundLogger:
    return structlog.wrap_logger(
        structlog.ReturnLogger(), wrapper_class=structlog.make_filtering_bound_logger(0)
    )


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    server = ScriptedServer(reply(200, {}))
    yield server
    server.close()


@pytest.fixture
def api(server: ScriptedServer) -> MemoryApi:
    return MemoryApi(server)


MakeClient = Callable[..., ApiClient]


@pytest.fixture
def make_client(
    server: ScriptedServer, metrics: Metrics, clock: SteppedClock
) -> Iterator[MakeClient]:
    """Clients of the scripted server, with a read timeout short enough for tests."""

    def make(
        read_token: Callable[[], str | None] = lambda: "Bearer first",
        write_seconds: Callable[[], float] = lambda: float("inf"),
        read_timeout_seconds: float = 30.0,
    ) -> ApiClient:
        credentials = Credentials(read_token, 60.0, clock)
        connection = build_connection(Configuration(host=server.url), credentials)
        return ApiClient(connection, metrics, 32, write_seconds, read_timeout_seconds)

    with ended(make, ApiClient.close) as make_client:
        yield make_client


@pytest.fixture
def client(make_client: MakeClient) -> ApiClient:
    return make_client()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory) -> str:
    """A file with a key, its certificate for 127.0.0.1 and api.example, and who vouches for it."""
    authority = Authority()
    pair = authority.issue("api.example", ["api.example"], ["127.0.0.1"])
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    path.write_bytes(pair.key + pair.certificate + authority.certificate)
    return str(path)


@pytest.fixture
def server_tls(certificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture
def client_tls(certificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(certificate)
    return context
