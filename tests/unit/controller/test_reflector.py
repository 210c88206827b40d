"""LIST and WATCH against a server that misbehaves."""

import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import structlog

from api.ownership import Key
from controller.cache import store
from controller.cache.event_handler import EventHandler
from controller.cache.reflector import FAILING_SECONDS, SILENT_SECONDS, Reflector, Scope
from controller.cache.store import Entry, Store
from controller.client import protobuf
from controller.client.resources import PADDLE_JOB, POD, VOLCANO_POD_GROUP
from kube import watch
from kube.watch import AWAY_SECONDS, LASTING_SECONDS, RELIST_SECONDS, STEADY_SECONDS
from tests.live import patience
from tests.unit.controller.fakes import (
    Step,
    SteppedClock,
    drop,
    ended,
    eventually,
    reply,
    status,
    stream,
)
from tests.unit.controller.stored import a_job, a_pod, put

JOB = a_job()
OWNER = Key("ns", "train")
GONE = reply(410, status(410, "Expired"))
FORBIDDEN = reply(403, status(403, "Forbidden"))
BROKEN = reply(500, status(500, "InternalError"))
THROTTLED = reply(429, status(429, "TooManyRequests"))


class Running:
    """A reflector in its thread, the store that it fills and the keys that it added."""

    def __init__(self, server, client, clock, metrics, resource=POD, *, log, **scope) -> None:
        self.server = server
        self.store = Store((PADDLE_JOB, POD, VOLCANO_POD_GROUP))
        put(self.store, PADDLE_JOB, JOB)
        self.keys: list[Key] = []
        handler = EventHandler(resource, self.store, self.add)
        self.reflector = Reflector(client, handler, Scope(**scope), clock, metrics.client, log)
        self.thread = threading.Thread(target=self.reflector.run)

    def add(self, key: Key) -> None:
        self.keys.append(key)

    def names(self) -> list[str]:
        return sorted(key.name for key, _ in self.store.facts(POD))

    def start(self, *steps, later: tuple[str, ...] = ()) -> None:
        """Run the script; after it the server hangs, as a quiet watch does, and lists these."""
        self.server.steps = [*steps, watched(stream(end=self.server.hang), *later)]
        self.thread.start()

    def stop(self) -> None:
        self.reflector.stop()
        if self.thread.ident:
            self.thread.join(60)
            assert not self.thread.is_alive()


Run = Callable[..., Running]


@pytest.fixture
def run(server, client, clock, metrics, log) -> Iterator[Run]:
    """Makes reflectors, and stops them in the end."""
    make = partial(Running, server, client, clock, metrics, log=log)
    with ended(make, Running.stop) as run:
        yield run


@pytest.fixture
def running(run) -> Running:
    return run()


def pod(name: str, version: int = 2) -> dict:
    return a_pod(name, JOB, version)


def listed(*items: Any, version: int = 10, token: str = "", **more: Any) -> Step:
    """A page of a list, with the pods of these names, or with these objects."""
    found = [pod(item) if isinstance(item, str) else item for item in items]
    metadata = {"resourceVersion": str(version), "continue": token}
    return reply(200, {"items": found, "metadata": metadata, **more})


def event(type_: str, obj: dict) -> dict:
    return {"type": type_, "object": obj}


def bookmark(version: int) -> dict:
    return event("BOOKMARK", {"metadata": {"resourceVersion": str(version)}})


def watched(step: Step, *items: str) -> Step:
    """The step for a watch; a list meanwhile has these pods."""

    def do(handler) -> None:
        (step if "watch=true" in handler.path else listed(*items))(handler)

    return do


def after(clock: SteppedClock, seconds: float, step: Step) -> Step:
    """The step, once so much time has passed."""

    def do(handler) -> None:
        clock.step(seconds)
        step(handler)

    return do


def watches(server) -> list[str]:
    return [seen.path for seen in server.seen if "watch=true" in seen.path]


def lists(server) -> list[str]:
    return [seen.path for seen in server.seen if "watch=true" not in seen.path]


def test_a_list_is_read_in_pages_and_taken_in_whole(running, server):
    running.start(listed("a", version=10, token="next"), listed("b", version=11))
    eventually(lambda: running.names() == ["a", "b"])
    assert "limit=250" in lists(server)[0]
    assert "continue=next" in lists(server)[1]
    eventually(lambda: bool(watches(server)))
    assert "resourceVersion=11" in watches(server)[0]


def test_a_page_that_is_too_large_is_read_in_smaller_ones(running, server, monkeypatch):
    monkeypatch.setattr(watch, "MAX_PAGE_BYTES", 4096)
    large = listed("a", "b", filling="x" * 4096)
    running.start(large, large, listed("a", token="next"), listed("b"))
    eventually(lambda: running.names() == ["a", "b"])
    limits = re.findall(r"limit=(\d+)", " ".join(lists(server)))
    assert limits == ["250", "125", "62", "124"]
    assert ["continue" in path for path in lists(server)] == [False, False, False, True]


def test_pages_that_expire_are_read_again_in_one_piece(running, server):
    running.start(
        listed("stale", token="next"),
        GONE,
        listed("a", "b"),
    )
    eventually(lambda: running.names() == ["a", "b"])
    assert "limit=0" in lists(server)[2]
    assert "continue" not in lists(server)[2]


def test_events_change_the_store(running, server):
    running.start(
        listed("a", "b"),
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


def test_asks_for_bookmarks_a_timeout_and_the_selector(run, server):
    running = run(namespace="ns", label_selector="x")
    running.start(listed())
    eventually(lambda: len(watches(server)) == 1)
    path = watches(server)[0]
    assert path.startswith("/api/v1/namespaces/ns/pods?")
    assert "allowWatchBookmarks=true" in path
    assert "labelSelector=x" in path
    timeout = int(path.partition("timeoutSeconds=")[2])
    assert 300 <= timeout <= 600


def test_asks_for_protobuf_and_understands_json_too(running, server):
    running.start(listed("a"), stream(event("ADDED", pod("b", 11))))
    eventually(lambda: running.names() == ["a", "b"])
    accepted = [seen.headers["Accept"] for seen in server.seen[:2]]
    assert accepted == [protobuf.ANSWERS, protobuf.EVENTS]


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
    running.start(listed("a"), end)
    eventually(lambda: len(watches(server)) == 2)
    assert "resourceVersion=42" in watches(server)[1]
    assert len(lists(server)) == 1
    assert running.names() == ["a"]


def test_a_silent_watch_ends_in_a_list(running, server, monkeypatch):
    """Nothing comes where etcd was restored: the version is one that the server does not know."""
    monkeypatch.setattr("kube.watch.READ_TIMEOUT_SECONDS", 1.0)
    restored = listed("a", version=7)
    running.start(listed("b"), stream(end=server.hang), restored)
    eventually(lambda: len(watches(server)) >= 2)
    assert "resourceVersion=7" in watches(server)[1]
    assert running.names() == ["a"]
    assert running.store.version(POD) == 7


def watch_quietly(running: Running) -> None:
    """List, and have a watch that stands and says nothing more."""
    running.start(listed(), stream(bookmark(42), end=running.server.hang))
    eventually(lambda: running.store.version(POD) == 42)


def test_a_kind_of_which_nothing_is_heard_is_not_healthy(running, clock, metrics):
    watch_quietly(running)
    clock.step(SILENT_SECONDS)
    assert running.reflector.is_healthy
    clock.step(1)
    assert not running.reflector.is_healthy
    line = f'paddlejob_watch_last_event_age_seconds{{kind="pods.v1"}} {SILENT_SECONDS + 1}'
    assert line in metrics.exposition("")[0].decode()


def test_a_stop_ends_a_silent_watch_at_once(running, server):
    watch_quietly(running)
    running.stop()  # fails when the thread does not end in time
    assert len(watches(server)) == 1


EXPIRED = {
    "HTTP 410": GONE,
    "ERROR event": stream(event("ERROR", status(410, "Expired"))),
}


@pytest.mark.parametrize("expired", EXPIRED.values(), ids=EXPIRED.keys())
def test_an_expired_version_lists_again_and_what_vanished_is_deleted(running, server, expired):
    running.start(listed("a", "vanished"), expired, listed("a", version=50))
    eventually(lambda: len(watches(server)) == 2)
    assert running.names() == ["a"]
    assert running.keys == [OWNER, OWNER, OWNER]
    assert len(lists(server)) == 2
    assert "resourceVersion=50" in watches(server)[1]


def test_a_version_that_expires_is_followed_by_a_list_at_once(running, server, clock):
    expires = after(clock, RELIST_SECONDS, GONE)
    running.start(listed(), expires, listed("a"))
    eventually(lambda: running.names() == ["a"])
    assert clock.waits == []


def test_versions_that_expire_again_and_again_are_listed_after_growing_pauses(
    running, server, clock
):
    running.start(*[listed(), GONE] * 4, listed("a"))
    eventually(lambda: running.names() == ["a"])
    assert clock.waits[-1] >= 5.6


@pytest.mark.parametrize("failure", [FORBIDDEN, BROKEN, THROTTLED], ids=[403, 500, 429])
def test_a_failing_list_is_tried_again_after_growing_pauses(running, server, clock, failure):
    running.start(*[failure] * 6, listed("a"))
    eventually(lambda: running.names() == ["a"])
    assert len(clock.waits) == 6
    for pause, least in zip(clock.waits, (0.7, 1.4, 2.8, 5.6, 11.2, 15.0), strict=True):
        assert least <= pause <= 2 * least


def test_while_nobody_answers_it_is_tried_every_other_second(running, server, clock):
    running.start(*[drop] * 20, listed("a"))
    eventually(lambda: running.names() == ["a"])
    assert len(clock.waits) == 20
    assert max(clock.waits) <= 2.0
    assert sum(clock.waits) >= 19.0


AWAY = {
    "nobody answers": [drop] * 4,
    "it is throttled": [stream(end=drop), *[THROTTLED] * 3],
    "watches are cut": [stream(end=drop)] * 3,
    "its pauses are long": [*[stream(end=drop), stream(bookmark(42))] * 3, stream(end=drop)],
}


@pytest.mark.parametrize("away", AWAY.values(), ids=AWAY)
def test_a_server_that_was_not_watched_for_long_is_listed_anew(running, server, away):
    """Its etcd may have been restored, and be beyond our version already."""
    running.start(listed("a"), *away, later=("b",))
    eventually(lambda: running.names() == ["b"])


def test_a_server_that_let_a_watch_wait_for_long_is_listed_anew(running, server, clock):
    """As one behind a load balancer that keeps a request until a server is there."""
    breaks = stream(bookmark(42), end=after(clock, RELIST_SECONDS, drop))
    opens = after(clock, AWAY_SECONDS, stream(bookmark(43), end=server.hang))
    running.start(listed("a"), breaks, opens, later=("b",))
    eventually(lambda: running.names() == ["b"] or running.reflector._version == "43")
    assert running.names() == ["b"]


def test_a_server_that_lets_the_first_watch_wait_is_watched_on(running, server, clock):
    """Listing again would take as long, and the next watch might wait again."""
    opens = after(clock, AWAY_SECONDS, stream(bookmark(42), end=server.hang))
    running.start(listed("a"), opens)
    eventually(lambda: running.reflector._version == "42")
    assert len(lists(server)) == 1


SHORT = {
    "brings nothing": stream(),
    "brings a bookmark": stream(bookmark(42)),
    "brings news": stream(event("ADDED", pod("a", 11))),
    "gets no answer": drop,
}


@pytest.mark.parametrize("short", SHORT.values(), ids=SHORT)
def test_a_watch_that_ends_at_once_is_opened_ever_more_seldom(running, server, clock, short):
    running.start(listed(), *[watched(short)] * 16)
    eventually(lambda: len(clock.waits) >= 5)
    assert clock.waits[4] >= 11.2


def test_a_failing_kind_is_not_healthy_until_it_is_read_again(running, server):
    release = threading.Event()

    def wait_then_tell(handler) -> None:
        release.wait(patience.SECONDS)
        stream(bookmark(42), end=server.hang)(handler)

    running.start(listed(), *[FORBIDDEN] * 8, *[watched(wait_then_tell)] * 2)
    eventually(lambda: not running.reflector.is_healthy and running.reflector.has_listed)
    release.set()
    eventually(lambda: running.reflector.is_healthy)


EMPTY = {
    "garbage": stream(b"{garbage\n"),
    "nothing": stream(),
    "cut": stream(end=drop),
    "an error": stream(event("ERROR", status(500, "InternalError"))),
}


@pytest.mark.parametrize("broken", EMPTY.values(), ids=EMPTY.keys())
def test_a_watch_that_brings_nothing_is_not_healthy_until_it_has_stood_for_a_while(
    running, server, clock, broken
):
    running.start(listed(), *[watched(broken)] * 16)
    eventually(lambda: len(server.seen) > 17)
    assert not running.reflector.is_healthy

    def has_stood() -> bool:
        clock.step(STEADY_SECONDS)  # again, for the stream may only be about to be opened
        return running.reflector.is_healthy

    eventually(has_stood)


def drop_after(seconds: float, running: Running, clock: SteppedClock) -> Step:
    """Have a watch stand for so long, and cut it."""

    def stand_then_break(handler) -> None:
        eventually(lambda: running.reflector._opened_at is not None)
        clock.step(seconds)
        drop(handler)

    return stand_then_break


def test_a_watch_that_broke_after_it_had_stood_begins_to_fail_anew(running, server, clock):
    end = drop_after(FAILING_SECONDS * 10, running, clock)
    half_an_event = stream(b'{"type":', end=end)
    running.start(listed(), stream(), half_an_event)
    eventually(lambda: len(clock.waits) == 2 and len(server.seen) > 3)
    assert running.reflector.is_healthy


def test_watches_that_are_cut_after_a_while_are_resumed_soon(running, server, clock):
    """As by a load balancer that cuts what is idle for half a minute."""
    end = drop_after(LASTING_SECONDS + 1, running, clock)
    running.start(listed(), *[stream(end=end)] * 8)
    eventually(lambda: len(watches(server)) > 8)
    assert len(clock.waits) == 8
    assert max(clock.waits) < AWAY_SECONDS
    assert len(lists(server)) == 1


PLAIN = reply(404, b"default backend - 404")
ABSENT = reply(404, b"404 page not found\n")
NOT_FOUND = reply(404, status(404, "NotFound"))


def groups(*versions: str) -> Step:
    told = [{"versions": [{"groupVersion": version}]} for version in versions]
    return reply(200, {"kind": "APIGroupList", "groups": told})


def kinds(*names: str) -> Step:
    told = [{"name": name} for name in names]
    return reply(200, {"kind": "APIResourceList", "resources": told})


VERSION = VOLCANO_POD_GROUP.api_version
ABSENCES = {
    "no such version": [ABSENT, groups("v1", "apps/v1")],
    "no such kind": [ABSENT, groups("apps/v1", VERSION), kinds("queues")],
    "told at once": [NOT_FOUND],
    "we may not know": [ABSENT, FORBIDDEN],
}


@pytest.mark.parametrize("absence", ABSENCES.values(), ids=ABSENCES.keys())
def test_a_kind_that_is_not_served_counts_as_empty_and_is_asked_for_again(run, server, absence):
    running = run(VOLCANO_POD_GROUP, is_optional=True)
    running.start(*absence, *absence, listed())
    eventually(lambda: running.reflector.is_served)
    running.stop()
    assert len(lists(server)) == 2 * len(absence) + 1
    assert running.reflector.is_healthy


def test_a_kind_that_goes_away_counts_as_absent_before_its_objects_go(run, server):
    """Or a pass between the two would take every node for lost."""
    running = run(VOLCANO_POD_GROUP)
    replace, served = running.store.replace, []

    def note(*listed):
        served.append(running.reflector.is_served)
        return replace(*listed)

    running.store.replace = note
    server.steps = [listed("a"), ABSENT, groups(), ABSENT]
    running.thread.start()
    eventually(lambda: len(served) == 2)
    running.stop()
    assert served == [False, False]
    assert not running.store.entry(VOLCANO_POD_GROUP, Key("ns", "a"))
    assert running.keys == [OWNER, OWNER]


@pytest.mark.parametrize("answer", [PLAIN, ABSENT, NOT_FOUND], ids=["proxy", "plain", "Status"])
def test_a_kind_of_the_core_is_never_taken_for_absent(running, server, answer):
    running.start(listed("a"), *[answer] * 8, later=("a",))
    eventually(lambda: len(server.seen) > 9)
    assert running.names() == ["a"]
    assert running.keys == [OWNER]
    assert not running.reflector.is_healthy


UNKNOWN = {
    "a proxy answers": [PLAIN, PLAIN],
    "a proxy answers in JSON": [PLAIN, reply(200, {"status": "ok"})],
    "it is served": [PLAIN, groups(VERSION), kinds("podgroups")],
    "discovery is not complete": [PLAIN, groups(VERSION), PLAIN],
}


@pytest.mark.parametrize("answers", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_an_answer_that_is_not_the_api_servers_makes_no_kind_absent(run, server, answers):
    running = run(VOLCANO_POD_GROUP, is_optional=True)
    running.start(listed("a"), *answers * 3, later=("a",))
    eventually(lambda: len(server.seen) > 1 + 3 * len(answers))
    running.stop()
    assert running.reflector.is_served
    assert running.store.entry(VOLCANO_POD_GROUP, Key("ns", "a"))


def test_an_optional_kind_that_may_not_be_read_counts_as_absent(run, server):
    running = run(is_optional=True)
    server.steps = [FORBIDDEN]
    running.thread.start()
    eventually(lambda: running.reflector.has_listed)
    running.stop()
    assert not running.reflector.is_served
    assert running.reflector.is_forbidden


ODD = {
    "item": [listed({"metadata": None}, "a")],
    "event": [
        listed(),
        stream(event("ADDED", {"metadata": None}), event("ADDED", pod("a", 21)), end=drop),
    ],
}


@pytest.mark.parametrize("steps", ODD.values(), ids=ODD)
def test_an_odd_object_does_not_hide_the_others(running, server, steps):
    running.start(*steps)
    eventually(lambda: running.names() == ["a"])
    assert len(lists(server)) == 1


@pytest.mark.parametrize("seen_in", ["list", "watch"])
def test_an_object_that_met_no_memory_is_listed_again(running, monkeypatch, seen_in):
    short = [MemoryError()]

    def pack(*args) -> Entry:
        if args[1]["metadata"]["name"] == "b" and short:
            raise short.pop()
        return store.pack(*args)

    monkeypatch.setattr("controller.cache.event_handler.pack", pack)
    both = listed("a", "b")
    began = [both] if seen_in == "list" else [listed(), stream(event("ADDED", pod("b")))]
    running.start(*began, both)
    eventually(lambda: running.names() == ["a", "b"])


def odd_pod(version: int) -> dict:
    """One that no rule of its kind allows."""
    return {**pod("a", version), "status": {"phase": 1}}


def test_an_object_that_becomes_odd_is_left_out_and_its_version_seen(
    running, server, metrics, clock
):
    running.start(listed("a"), stream(*[event("MODIFIED", odd_pod(21))] * 2, end=drop))
    eventually(lambda: len(watches(server)) == 2)
    assert running.names() == []
    assert running.keys == [OWNER, OWNER]
    assert "resourceVersion=21" in watches(server)[1]
    assert running.store.version(POD) == 21
    line = 'paddlejob_unreadable_objects_total{kind="pods.v1"} 2.0'
    assert line in metrics.exposition("")[0].decode()


def test_an_odd_object_is_logged_once_a_version(run, server):
    with structlog.testing.capture_logs() as logged:
        running = run(log=structlog.get_logger())
        running.start(*[listed(odd_pod(20)), GONE] * 2, listed(odd_pod(21)))
        eventually(lambda: len(watches(server)) == 3)
        running.stop()
    told = [each for each in logged if each["event"] == "object_unreadable"]
    assert [(each["object"], each["version"]) for each in told] == [("ns/a", "20"), ("ns/a", "21")]
