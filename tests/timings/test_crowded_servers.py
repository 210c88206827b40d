"""Whoever crowds the operator's health server gets no probe lost, and costs it next to nothing."""

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from localcluster import Cluster
from localcluster.machine import clock
from localcluster.machine.process import Process
from tests.conftest import new_namespace
from tests.live import patience
from tests.live.operated import operator_beside
from tests.live.processes import http_get, listening_ports, status_of

MAX_MORE_MB = 20
MAX_MORE_THREADS = 40
PROBE_SECONDS = 1.0
PROBES = 20
LOUD_CLIENTS = 100
HEADERS = 95
HEADER_BYTES = 65_000
SLOW_CLIENTS = 1_100
SWEEP_SECONDS = 0.5
"""So often each slow client sends a byte, or connects again."""


@pytest.fixture
def operator(unattended: Cluster) -> Iterator[Process]:
    flag = "--health-probe-bind-address=127.0.0.1:0"
    with (
        new_namespace(unattended) as namespace,
        operator_beside(unattended, namespace, flag) as process,
    ):
        assert clock.wait_until(lambda: len(listening_ports(process.pid)) == 1, patience.SECONDS)
        assert clock.wait_until(
            lambda: http_get(url_of(process, "/readyz"))[0] == 200, patience.SECONDS
        )
        yield process
        log = unattended.log(f"operator-{namespace}").read_text()
        assert "Traceback" not in log, log


def port_of(operator: Process) -> int:
    (port,) = listening_ports(operator.pid)
    return port


def url_of(operator: Process, path: str) -> str:
    return f"http://127.0.0.1:{port_of(operator)}{path}"


@contextmanager
def loud_clients(port: int) -> Iterator[None]:
    """Clients that each send six megabytes of headers, and never the end of them."""

    def shout(client: socket.socket) -> None:
        with suppress(OSError):
            client.sendall(b"GET /healthz HTTP/1.1\r\n")
            for number in range(HEADERS):
                client.sendall(b"X-%d: %s\r\n" % (number, b"x" * HEADER_BYTES))

    with ExitStack() as stack, ThreadPoolExecutor(LOUD_CLIENTS) as pool:
        address = ("127.0.0.1", port)
        clients = [
            stack.enter_context(socket.create_connection(address, 30)) for _ in range(LOUD_CLIENTS)
        ]
        list(pool.map(shout, clients))
        yield


class SlowClient:
    """Sends one byte of a request at a time, and connects again when it is cut."""

    def __init__(self, port: int) -> None:
        self._address = ("127.0.0.1", port)
        self._socket = socket.socket()
        self.connect()

    def connect(self) -> None:
        self.close()
        self._socket = socket.socket()
        self._socket.setblocking(False)
        with suppress(BlockingIOError):
            self._socket.connect(self._address)

    def send(self) -> None:
        try:
            self._socket.send(b"G")
        except BlockingIOError:
            pass  # not connected yet
        except OSError:
            self.connect()

    def close(self) -> None:
        self._socket.close()


@contextmanager
def slow_clients(port: int) -> Iterator[None]:
    """More of them than the server takes, all the time."""
    clients = [SlowClient(port) for _ in range(SLOW_CLIENTS)]
    end = threading.Event()

    def go_on() -> None:
        while not end.wait(SWEEP_SECONDS):
            for client in clients:
                client.send()

    going_on = threading.Thread(target=go_on)
    going_on.start()
    try:
        yield
    finally:
        end.set()
        going_on.join()
        for client in clients:
            client.close()


Crowd = Callable[[int], AbstractContextManager[None]]


@pytest.mark.parametrize("crowd", [loud_clients, slow_clients], ids=["loud", "slow"])
def test_probes_are_answered_and_nothing_grows(operator: Process, crowd: Crowd) -> None:
    Path(f"/proc/{operator.pid}/clear_refs").write_text("5")  # the peak counts from here
    before = status_of(operator.pid)
    with crowd(port_of(operator)):
        url = url_of(operator, "/healthz")
        for _ in range(PROBES):
            started = clock.monotonic()
            assert http_get(url) == (200, "ok\n")
            assert clock.monotonic() - started <= PROBE_SECONDS
            clock.sleep(0.1)
        after = status_of(operator.pid)
        assert after["Threads"] - before["Threads"] <= MAX_MORE_THREADS
    assert (status_of(operator.pid)["VmHWM"] - before["VmRSS"]) / 1024 <= MAX_MORE_MB
