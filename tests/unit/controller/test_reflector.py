"""LIST and WATCH against a server that misbehaves."""

import threading
from collections.abc import Iterator

import pytest

from controller import protobuf
from controller.informer import Informer
from controller.reflector import GATHER_SECONDS, Reflector, Scope
from controller.resources import PADDLE_JOB, POD
from controller.store import Key, Store
from tests.unit.controller.builders import a_job, a_pod, put
from tests.unit.controller.fakes import drop, eventually, reply, status, stream
from tests.unit.controller.test_protobuf import an_answer, field

JOB = a_job()
OWNER = Key("ns", "train")


class Running:
    """A reflector in its thread, the store that it fills and the keys that it added."""

    def __init__(self, client, clock, metrics, log, **scope) -> None:
        self.store = Store((PADDLE_JOB, POD))
        put(self.store, PADDLE_JOB, JOB)
        self.keys: list[Key] = []
        self.has_crowd = False
        self.asked = 0
        """How often it was asked whether there is a crowd."""
        informer = Informer(POD, self.store, self)
        self.reflector = Reflector(client, informer, Scope(**scope), clock, metrics.client, log)
        self.thread = threading.Thread(target=self.reflector.run)

    def add(self, key: Key) -> None:
        self.keys.append(key)

    add_later = add_last = add

    def is_crowded(self) -> bool:
        self.asked += 1
        return self.has_crowd

    def names(self) -> list[str]:
        return sorted(pod["metadata"]["name"] for pod in self.store.all(POD))

    def stop(self) -> None:
        self.reflector.stop()
        if self.thread.ident:
            self.thread.join(60)
            assert not self.thread.is_alive()


@pytest.fixture
def running(client, clock, metrics, log) -> Iterator[Running]:
    running = Running(client, clock, metrics, log)
    yield running
    running.stop()


def pod(name: str, version: int = 2) -> dict:
    return a_pod(name, JOB, version)


def page(*pods: dict, version: int = 10, token: str = "") -> dict:
    return {"items": list(pods), "metadata": {"resourceVersion": str(version), "continue": token}}


def event(type_: str, obj: dict) -> dict:
    return {"type": type_, "object": obj}


def bookmark(version: int) -> dict:
    return event("BOOKMARK", {"metadata": {"resourceVersion": str(version)}})


def start(running: Running, server, *steps) -> None:
    """Run the script; the server hangs after it, as a quiet watch does."""
    server.steps = [*steps, stream(end=server.hang)]
    running.thread.start()


def watches(server) -> list[str]:
    return [seen.path for seen in server.seen if "watch=true" in seen.path]


def lists(server) -> list[str]:
    return [seen.path for seen in server.seen if "watch=true" not in seen.path]


def test_a_list_fills_the_store_and_wakes_the_owners(running, server):
    start(running, server, reply(200, page(pod("a"), pod("b"))))
    eventually(lambda: running.names() == ["a", "b"])
    assert running.keys == [OWNER, OWNER]
    assert running.reflector.has_listed


def test_a_list_is_read_in_pages_and_taken_in_whole(running, server):
    start(
        running,
        server,
        reply(200, page(pod("a"), version=10, token="next")),
        reply(200, page(pod("b"), version=11)),
    )
    eventually(lambda: running.names() == ["a", "b"])
    assert "limit=250" in lists(server)[0]
    assert "continue=next" in lists(server)[1]
    eventually(lambda: watches(server))
    assert "resourceVersion=11" in watches(server)[0]


def test_pages_that_expire_are_read_again_in_one_piece(running, server):
    start(
        running,
        server,
        reply(200, page(pod("stale"), token="next")),
        reply(410, status(410, "Expired")),
        reply(200, page(pod("a"), pod("b"))),
    )
    eventually(lambda: running.names() == ["a", "b"])
    assert "limit=0" in lists(server)[2]
    assert "continue" not in lists(server)[2]


def test_events_change_the_store(running, server):
    start(
        running,
        server,
        reply(200, page(pod("a"), pod("b"))),
        stream(
            event("ADDED", pod("c", 11)),
            event("MODIFIED", pod("a", 12)),
            event("DELETED", pod("b", 13)),
            end=server.hang,
        ),
    )
    eventually(lambda: running.names() == ["a", "c"])
    assert running.store.get(POD, Key("ns", "a"))["metadata"]["resourceVersion"] == "12"
    assert running.store.version(POD) == 13


def test_asks_for_bookmarks_a_timeout_and_the_selector(client, clock, metrics, log, server):
    running = Running(client, clock, metrics, log, namespace="ns", label_selector="x")
    start(running, server, reply(200, page()))
    eventually(lambda: len(watches(server)) == 1)
    running.stop()
    path = watches(server)[0]
    assert path.startswith("/api/v1/namespaces/ns/pods?")
    assert "allowWatchBookmarks=true" in path
    assert "labelSelector=x" in path
    timeout = int(path.partition("timeoutSeconds=")[2])
    assert 300 <= timeout <= 600


def test_asks_for_protobuf_and_understands_json_too(running, server):
    start(running, server, reply(200, page(pod("a"))), stream(event("ADDED", pod("b", 11))))
    eventually(lambda: running.names() == ["a", "b"])
    accepted = [seen.headers["Accept"] for seen in server.seen[:2]]
    assert accepted == [protobuf.ANSWERS, protobuf.EVENTS]


def test_a_list_in_protobuf_fills_the_store(running, server):
    named = field(1, field(1, "a") + field(3, "ns") + field(5, "uid") + field(6, "7"))
    packed = an_answer("PodList", field(1, field(2, "10")) + field(2, named))
    start(running, server, reply(200, packed, Content_Type=protobuf.MEDIA_TYPE))
    eventually(lambda: running.names() == ["a"])
    assert running.store.version(POD) == 10


ENDS = {
    "ended by the server": stream(bookmark(42)),
    "cut": stream(bookmark(42), end=drop),
    "garbage": stream(bookmark(42), b"{garbage\n"),
    "no object": stream(bookmark(42), b'{"type":"ADDED"}\n'),
    "not an event": stream(bookmark(42), b"[]\n"),
    "server error": stream(bookmark(42), event("ERROR", status(500, "InternalError"))),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
def test_a_watch_goes_on_where_it_ended(running, server, end):
    start(running, server, reply(200, page(pod("a"))), end)
    eventually(lambda: len(watches(server)) == 2)
    assert "resourceVersion=42" in watches(server)[1]
    assert len(lists(server)) == 1
    assert running.names() == ["a"]


def test_a_silent_watch_is_given_up_and_goes_on(running, server, monkeypatch):
    monkeypatch.setattr("controller.reflector.READ_TIMEOUT_SECONDS", 1.0)
    start(running, server, reply(200, page()), stream(bookmark(42), end=server.hang))
    eventually(lambda: len(watches(server)) >= 2)
    assert "resourceVersion=42" in watches(server)[1]


EXPIRED = {
    "HTTP 410": reply(410, status(410, "Expired")),
    "ERROR event": stream(event("ERROR", status(410, "Expired"))),
}


@pytest.mark.parametrize("expired", EXPIRED.values(), ids=EXPIRED.keys())
def test_an_expired_version_lists_again_and_what_vanished_is_deleted(running, server, expired):
    start(
        running,
        server,
        reply(200, page(pod("a"), pod("vanished"))),
        expired,
        reply(200, page(pod("a"), version=50)),
    )
    eventually(lambda: len(watches(server)) == 2)
    assert running.names() == ["a"]
    assert running.keys == [OWNER, OWNER, OWNER]
    assert len(lists(server)) == 2
    assert "resourceVersion=50" in watches(server)[1]


FAILURES = {
    "refused": reply(403, status(403, "Forbidden")),
    "broken": reply(500, status(500, "InternalError")),
    "throttled": reply(429, status(429, "TooManyRequests")),
    "dropped": drop,
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES.keys())
def test_a_failing_list_is_tried_again_after_growing_pauses(running, server, clock, failure):
    start(running, server, *[failure] * 6, reply(200, page(pod("a"))))
    eventually(lambda: running.names() == ["a"])
    assert len(clock.waits) == 6
    for pause, least in zip(clock.waits, (0.8, 1.6, 3.2, 6.4, 12.8, 25.6), strict=True):
        assert least <= pause <= 2 * least


def test_a_watch_that_ends_at_once_and_empty_backs_off(running, server, clock):
    start(running, server, reply(200, page()), *[stream()] * 5)
    eventually(lambda: len(watches(server)) == 6)
    assert len(clock.waits) == 5
    assert clock.waits[4] >= 12.8


def test_a_watch_that_brought_something_goes_on_at_once(running, server, clock):
    start(running, server, reply(200, page()), *[stream(bookmark(42))] * 3)
    eventually(lambda: len(watches(server)) == 4)
    assert clock.waits == []


def test_a_failing_kind_is_not_healthy_until_it_is_read_again(running, server, clock):
    release = threading.Event()

    def wait_then_list(handler) -> None:
        release.wait(60)
        reply(200, page())(handler)

    forbidden = reply(403, status(403, "Forbidden"))
    start(running, server, reply(200, page()), *[forbidden] * 8, wait_then_list)
    eventually(lambda: not running.reflector.is_healthy and running.reflector.has_listed)
    release.set()
    eventually(lambda: running.reflector.is_healthy)


def test_a_kind_that_is_not_served_counts_as_empty_and_is_asked_for_again(running, server):
    missing = reply(404, b"404 page not found\n")
    start(running, server, missing, missing, missing, reply(200, page(pod("a"))))
    eventually(lambda: running.reflector.is_served)
    eventually(lambda: running.names() == ["a"])


def test_a_kind_that_goes_away_leaves_an_empty_store_and_woken_owners(running, server):
    missing = reply(404, b"404 page not found\n")
    start(running, server, reply(200, page(pod("a"))), *[missing] * 3)
    eventually(lambda: running.reflector.has_listed and not running.reflector.is_served)
    assert running.names() == []
    assert running.keys == [OWNER, OWNER]


def test_an_optional_kind_that_may_not_be_read_counts_as_absent(
    client, clock, metrics, log, server
):
    running = Running(client, clock, metrics, log, is_optional=True)
    server.steps = [reply(403, status(403, "Forbidden"))]
    running.thread.start()
    eventually(lambda: running.reflector.has_listed)
    running.stop()
    assert not running.reflector.is_served


def test_an_odd_item_does_not_hide_the_others(running, server):
    start(running, server, reply(200, page({"metadata": None}, pod("a"))))
    eventually(lambda: running.names() == ["a"])


def test_an_odd_event_does_not_end_the_watch(running, server):
    odd = event("ADDED", {"metadata": {"resourceVersion": "20"}})
    start(
        running,
        server,
        reply(200, page()),
        stream(odd, event("ADDED", pod("a", 21)), end=server.hang),
    )
    eventually(lambda: running.names() == ["a"])
    assert len(watches(server)) == 1


def test_the_age_of_the_newest_event_is_told(running, server, clock, metrics):
    start(running, server, reply(200, page()), stream(bookmark(42), end=server.hang))
    eventually(lambda: running.store.version(POD) == 42)
    clock.step(33)
    line = 'paddlejob_watch_last_event_age_seconds{kind="pods.v1"} 33.0'
    assert line in metrics.exposition("")[0].decode()


def test_a_child_that_changes_its_owner_wakes_both(running, server):
    other = a_job("other", uid="job-2")
    put(running.store, PADDLE_JOB, other)
    start(
        running,
        server,
        reply(200, page(pod("a"))),
        stream(event("MODIFIED", a_pod("a", other, 11)), end=server.hang),
    )
    eventually(lambda: len(running.keys) == 3)
    assert set(running.keys) == {OWNER, Key("ns", "other")}


def test_what_a_deleted_job_left_wakes_nobody(running, server):
    orphan = a_pod("orphan", a_job("gone", uid="job-9"))
    start(running, server, reply(200, page(orphan, pod("a"))))
    eventually(lambda: running.names() == ["a", "orphan"])
    assert running.keys == [OWNER]


def test_in_a_crowd_events_gather_before_they_are_read(running, server, clock):
    running.has_crowd = True
    start(running, server, reply(200, page()), stream(event("ADDED", pod("a")), end=server.hang))
    eventually(lambda: running.names() == ["a"])
    eventually(lambda: clock.waits == [GATHER_SECONDS])


def test_without_a_crowd_a_watch_is_read_all_the_time(running, server, clock):
    start(running, server, reply(200, page()), stream(event("ADDED", pod("a")), end=server.hang))
    eventually(lambda: running.asked == 1)
    running.stop()
    assert running.names() == ["a"]
    assert clock.waits == []
