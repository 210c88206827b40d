"""A server on which no watch lasts is asked seldom."""

import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest

from kube.client import Client
from kube.clock import Clock
from kube.errors import Gone, Transient
from pdj.gather.watch import Watch


class Paused(Clock):
    """Time that passes only in pauses; after ten seconds of it the watch is closed."""

    def __init__(self) -> None:
        self.passed = 0.0

    def monotonic(self) -> float:
        return self.passed

    def wait(self, event: threading.Event, seconds: float) -> bool:
        self.passed += seconds
        if self.passed >= 10:
            event.set()
        return event.is_set()


class Server:
    """Counts requests. Each watch ends at once, or raises this."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error
        self.headers: dict[str, str] = {}
        self.requests = 0

    def list(self, *_: Any) -> tuple[list[Any], str]:
        self._count()
        return [], "1"

    def stream(self, *_: Any) -> "Server":
        self._count()
        if self.error is not None:
            raise self.error
        return self

    def chunks(self) -> Iterator[bytes]:
        return iter(())

    def release(self) -> None:
        """There is no connection."""

    def _count(self) -> None:
        self.requests += 1
        assert self.requests < 100, "it asks without a pause"


@pytest.mark.parametrize("error", [None, Gone("too old"), Transient("cut")])
def test_server_on_which_no_watch_lasts_gets_ten_requests_in_ten_seconds(error):
    server = Server(error)
    for _ in Watch(cast(Client, server), "/things", {}, Paused()):
        pass
    assert server.requests <= 10
