"""The client: headers, timeouts, one kind of error for every fault, no write sent twice."""

from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from typing import Any
from unittest.mock import Mock

import orjson
import pytest

from controller.client.api import read_events
from controller.client.errors import NotLeader
from kube.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    Silent,
    Throttled,
    Transient,
    Unauthorized,
    Unreachable,
    YoungKind,
)
from tests.unit.controller.fakes import drop, eventually, reply, status, stream

LONG_BYTES, PIECE_BYTES = 4 << 20, 4 << 10
"""Many times what it takes; where each piece has all before it copied, it takes more."""
WRITES = {
    "create": lambda c: c.create("/p", {}),
    "replace": lambda c: c.replace("/p", {}),
    "patch": lambda c: c.merge_patch("/p", {}),
    "delete": lambda c: c.delete("/p", "u"),
}
CALLS = {"get": lambda c: c.get("/p"), **WRITES}


def test_the_date_of_an_answer_says_what_time_it_is(server, client, clock, monkeypatch):
    date = "Wed, 01 Jul 2020 12:00:00 GMT"
    monkeypatch.setattr(BaseHTTPRequestHandler, "date_time_string", lambda *_: date)
    server.steps = [reply(503), reply(200)]
    with pytest.raises(Transient):
        client.get("/p")
    assert not clock.ahead(), "a proxy may have answered"
    client.get("/p")
    assert clock.ahead() > timedelta(days=365)


def test_carries_unknown_fields_untouched(server, client):
    pod = {"spec": {"new": {"field": [1, None]}, "limits": {"cpu": 1}}}
    server.steps = [reply(201, pod)]
    assert client.create("/p", pod) == pod
    assert server.seen[0].body == pod


@pytest.mark.parametrize(
    ("call", "header", "value"),
    [
        ("get", "Authorization", "Bearer first"),
        ("get", "User-Agent", "paddlejob-operator"),
        ("create", "Content-Type", "application/json"),
        ("patch", "Content-Type", "application/merge-patch+json"),
    ],
)
def test_says_who_it_is_and_what_it_sends(server, client, call, header, value):
    CALLS[call](client)
    assert server.seen[0].headers[header] == value


def test_delete_names_the_uid_and_the_grace(server, client):
    client.delete("/p", "u1", grace_seconds=0)
    body = server.seen[0].body
    assert body["preconditions"] == {"uid": "u1"}
    assert body["gracePeriodSeconds"] == 0


@pytest.mark.parametrize(
    ("code", "reason", "error"),
    [
        (400, "BadRequest", Invalid),
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (409, "AlreadyExists", AlreadyExists),
        (409, "Conflict", Conflict),
        (410, "Expired", Gone),
        (413, "RequestEntityTooLarge", Invalid),
        (415, "UnsupportedMediaType", Invalid),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", Throttled),
        (500, "InternalError", Transient),
        (503, "ServiceUnavailable", Transient),
        (504, "Timeout", Transient),
    ],
)
def test_maps_every_answer(server, client, code, reason, error):
    server.steps = [reply(code, status(code, reason, "because"))]
    with pytest.raises(ApiError) as caught:
        client.get("/p")
    assert type(caught.value) is error
    assert caught.value.message == "because"
    assert caught.value.code == code


YOUNG_KIND = (
    'pods "a" is forbidden: cannot set blockOwnerDeletion in this case because cannot find '
    "RESTMapping for APIVersion batch.paddlepaddle.org/v1 Kind PaddleJob"
)
YOUNG_NAMESPACE = (
    'pods "a" is forbidden: error looking up service account ns/default: serviceaccount '
    '"default" not found'
)
YOUNG_QUOTA = 'pods "a" is forbidden: status unknown for quota: gpus, resources: limits.cpu'
REFUSED = (
    'pods "a" is forbidden: violates PodSecurity "baseline:latest": non-default capabilities '
    '(container "paddle" must not include'
)


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (YOUNG_KIND, YoungKind),
        (YOUNG_NAMESPACE, Transient),
        (YOUNG_QUOTA, Transient),
        (f"{REFUSED} {YOUNG_KIND}", Forbidden),
        (f"{REFUSED} {YOUNG_NAMESPACE}", Forbidden),
    ],
    ids=["kind", "namespace", "quota", "kind in a tenant's words", "namespace in a tenant's words"],
)
def test_what_admission_does_not_know_yet_is_tried_again(server, client, message, error):
    server.steps = [reply(403, status(403, "Forbidden", message))]
    with pytest.raises(ApiError) as caught:
        client.create("/p", {})
    assert type(caught.value) is error


NO_WORD_OF_THE_SERVER = {
    "plain": b"default backend - 404",
    "JSON": {"error": "no such route"},
    "another code": status(500, "InternalError"),
    "nothing": b"",
}


@pytest.mark.parametrize("body", NO_WORD_OF_THE_SERVER.values(), ids=NO_WORD_OF_THE_SERVER.keys())
@pytest.mark.parametrize("code", [400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 502])
def test_only_a_status_is_the_api_servers_word(server, client, code, body):
    server.steps = [reply(code, body)]
    with pytest.raises(Transient) as caught:
        client.get("/p")
    assert caught.value.code == code


def test_what_is_nested_too_deeply_to_be_sent_is_refused(server, client):
    body: dict = {}
    for _ in range(300):
        body = {"a": body}
    with pytest.raises(Invalid, match="cannot be sent"):
        client.create("/p", body)
    assert server.seen == []


@pytest.mark.parametrize("body", [b"garbage", b"[1]", b"null"], ids=["garbage", "list", "null"])
def test_a_success_without_an_object_is_transient(server, client, body):
    server.steps = [reply(200, body)]
    with pytest.raises(Transient):
        client.get("/p")


@pytest.mark.parametrize("code", [429, 503])
@pytest.mark.parametrize("call", CALLS)
def test_hands_retry_after_on_without_sleeping(server, client, code, call):
    server.steps = [reply(code, status(code, "x"), Retry_After="3600")]
    with pytest.raises(Throttled) as caught:
        CALLS[call](client)
    assert caught.value.retry_after == 3600
    assert len(server.seen) == 1


@pytest.mark.parametrize("call", CALLS)
def test_a_dropped_connection_is_transient_and_nothing_is_sent_again(server, client, call):
    server.steps = [drop]
    with pytest.raises(Transient):
        CALLS[call](client)
    assert len(server.seen) == 1


def test_a_refused_connection_is_transient(server, client):
    server.close()
    with pytest.raises(Unreachable):
        client.get("/p")


@pytest.mark.parametrize("call", CALLS)
def test_a_silent_server_is_given_up(server, make_client, call):
    server.steps = [server.hang]
    client = make_client(read_timeout_seconds=0.1)
    with pytest.raises(Transient) as caught:
        CALLS[call](client)
    assert not isinstance(caught.value, Unreachable)  # it may be at work on it


@pytest.mark.parametrize("call", CALLS)
def test_every_call_is_sent_again_with_a_new_token(server, make_client, call):
    tokens = iter(["Bearer old", "Bearer new"])
    client = make_client(lambda: next(tokens))
    server.steps = [reply(401, status(401, "Unauthorized")), reply(200, {})]
    CALLS[call](client)
    first, second = server.seen
    assert (first.method, first.path, first.body) == (second.method, second.path, second.body)
    assert second.headers["Authorization"] == "Bearer new"


def test_without_a_token_none_is_sent(server, make_client):
    make_client(lambda: None).get("/p")
    assert "Authorization" not in server.seen[0].headers


def test_gives_up_when_the_new_token_is_refused_too(server, client):
    server.steps = [reply(401, status(401, "Unauthorized"))]
    with pytest.raises(Unauthorized):
        client.create("/p", {})
    assert len(server.seen) == 2


@pytest.mark.parametrize("call", WRITES)
@pytest.mark.parametrize("left", [[0.0], [1.0, 0.0]], ids=["before", "while it connects"])
def test_without_the_lease_no_write_leaves(server, make_client, call, left):
    seconds = iter(left)
    client = make_client(write_seconds=lambda: next(seconds))
    with pytest.raises(NotLeader):
        WRITES[call](client)
    eventually(lambda: len(server.connections) == len(left) - 1, "the connection")
    assert server.seen == []


def test_a_write_does_not_outlast_the_lease(server, make_client):
    server.steps = [server.hang]
    client = make_client(write_seconds=lambda: 0.1)
    with pytest.raises(Transient):
        client.create("/p", {})


def test_counts_requests(server, client, metrics):
    server.steps = [reply(200, {}), drop]
    client.get("/p")
    with pytest.raises(Transient):
        client.create("/p", {})
    text = metrics.exposition("")[0].decode()
    host = server.url.removeprefix("http://")
    assert f'rest_client_requests_total{{code="200",host="{host}",method="GET"}} 1.0' in text
    assert f'rest_client_requests_total{{code="<error>",host="{host}",method="POST"}} 1.0' in text


# Streams


@pytest.mark.parametrize(
    "chunks",
    [
        (b'{"n":1}\n{"n":2}\n',),
        (b'{"n"', b':1}\n{"n', b'":2}\n'),
        (b'{"n":1}\n', b'\n{"n":2}\n'),
    ],
    ids=["one chunk", "lines cut", "a chunk a line"],
)
def test_yields_events_however_they_are_cut(server, client, chunks):
    server.steps = [stream(*chunks)]
    opened = client.stream("/w", {"watch": "true"}, 5.0)
    assert list(read_events(opened)) == [{"n": 1}, {"n": 2}]
    opened.release()


def test_an_event_in_many_pieces_is_not_read_again_with_each():
    event = orjson.dumps({"x": "x" * LONG_BYTES}) + b"\n"
    starts = range(0, len(event), PIECE_BYTES)
    pieces: Any = Mock(headers={})
    pieces.chunks.return_value = (event[start : start + PIECE_BYTES] for start in starts)
    assert [len(each["x"]) for each in read_events(pieces)] == [LONG_BYTES]


def test_logs_share_a_connection(client, server):
    server.steps[:] = [stream(b"one\n", b"two\n"), reply(200, b"three\n"), reply(200, b"")]
    read = [client.read_log("/log", {"tailLines": 2}, 5.0) for _ in range(3)]
    assert read == [b"one\ntwo\n", b"three\n", b""]
    assert len(server.connections) == 1


def test_a_log_that_trickles_is_given_up(client, server, clock):
    def trickle():
        for _ in range(100):
            clock.step(1)
            yield b"x"

    server.steps[:] = [stream(more=trickle())]
    with pytest.raises(Silent):
        client.read_log("/log", {"tailLines": 2}, 5.0)


def test_a_log_without_end_is_read_to_its_limit(client, mocker):
    """As a virtual kubelet sends it that ignores the limit."""
    pieces = mocker.patch.object(client, "stream").return_value.chunks
    pieces.return_value = (bytes(1000) for _ in range(1000))
    assert len(client.read_log("/log", {"limitBytes": 2000}, 5.0)) == 3000
