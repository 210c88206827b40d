"""No change is missed, whatever becomes of the watch."""

import json
from collections.abc import Iterator
from http.client import IncompleteRead
from typing import Any

import pytest

from kube.clock import Clock
from kube.errors import ApiError, Gone
from localcluster.client.informer import Informer
from localcluster.client.rest import ServerClient

Raw = dict[str, Any]


def thing(name: str, version: int) -> Raw:
    return {"metadata": {"name": name, "resourceVersion": str(version)}}


ERROR = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}


class Server(ServerClient):
    """Lists, and watches each of which tells some events and then ends or fails, in order.

    After the last one the informer is told to stop, so that `run` returns.
    """

    def __init__(self, lists: list[list[Raw]], *watches: list[Raw | Exception]) -> None:
        self._lists, self._watches = list(lists), list(watches)
        self.began_at: list[str] = []
        self.replaced: list[list[Raw]] = []
        self.told: list[str] = []
        self.informer = Informer(self, "/things", self.replaced.append, self._note)

    def run(self) -> "Server":
        self.informer.run()
        return self

    def get(self, *_: Any) -> Raw:
        """The next list, at version 10, 20 and so on."""
        items = self._lists.pop(0) if self._lists else []
        version = str(10 * (len(self.replaced) + 1))
        return {"items": items, "metadata": {"resourceVersion": version}}

    def stream(self, *asked: Any) -> Any:
        """The next watch; after more than are there, the informer ends."""
        if not self._watches:
            self.informer.stop()
        self.began_at.append(asked[1]["resourceVersion"])
        return self

    def chunks(self) -> Iterator[bytes]:
        events = self._watches.pop(0) if self._watches else []
        if not self._watches:
            events = [*events, thing("last", 99)]
        for each in events:
            if isinstance(each, Exception):
                raise each
            event = each if "type" in each else {"type": "MODIFIED", "object": each}
            yield json.dumps(event).encode() + b"\n"

    def close(self) -> None: ...

    release = close

    def _note(self, _: str, changed: Raw) -> None:
        self.told.append(changed["metadata"]["name"])
        if self.told[-1] == "last":
            self.informer.stop()
        if self.told[-1] == "bad":
            raise KeyError("status")


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Clock, "wait", lambda _clock, event, _seconds: event.is_set())


@pytest.mark.parametrize(
    "end",
    [
        pytest.param([], id="ended"),
        pytest.param([OSError("reset")], id="connection"),
        pytest.param([IncompleteRead(b"")], id="broken answer"),
        pytest.param([ApiError("etcd is away", code=500)], id="server error"),
    ],
)
def test_a_watch_that_ends_goes_on_where_it_was(end):
    server = Server([[thing("a", 5)]], [thing("b", 11), *end], [thing("c", 12)]).run()
    assert server.began_at == ["10", "11"]
    assert server.told == ["b", "c", "last"]
    assert server.replaced == [[thing("a", 5)]]


def test_a_list_that_cannot_be_handled_is_read_again(monkeypatch):
    server = Server([[thing("a", 5)], [thing("b", 5)]], [])
    bad = [KeyError("status")]

    def replace(items: list[Raw]) -> None:
        server.replaced.append(items)
        if bad:
            raise bad.pop()

    monkeypatch.setattr(server.informer, "_on_replace", replace)
    server.run()
    assert server.replaced == [[thing("a", 5)], [thing("b", 5)]]
    assert server.told == ["last"]


@pytest.mark.parametrize(
    "watch",
    [
        pytest.param([Gone("too old", code=410)], id="refused"),
        pytest.param([ERROR], id="told in an event"),
        pytest.param([thing("bad", 11)], id="an event that cannot be handled"),
    ],
)
def test_where_versions_are_lost_all_is_listed_again(watch):
    server = Server([[thing("a", 5)], [thing("b", 15)]], watch, []).run()
    assert server.began_at == ["10", "20"]
    assert server.replaced == [[thing("a", 5)], [thing("b", 15)]]
