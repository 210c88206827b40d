"""Whom the API server lets read the metrics, and that nobody else gets through."""

import contextlib
import threading
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest

from controller.gate import (
    ACCESS_REVIEWS,
    ASK_SECONDS,
    FAILURE_SECONDS,
    MAX_ASKED,
    TOKEN_REVIEWS,
    VERDICT_SECONDS,
    Gate,
)
from controller.health import HttpAnswer, HttpRequest, Route
from tests.unit.controller.fakes import ScriptedServer, eventually, reply

PROMETHEUS = {"username": "prometheus", "uid": "u", "groups": ["g"], "extra": {"k": ["v"]}}
KNOWN = reply(201, {"status": {"authenticated": True, "user": PROMETHEUS}})
ALLOWED = reply(201, {"status": {"allowed": True}})
DENIED = reply(201, {"status": {"allowed": False}})
SAID = HttpAnswer(HTTPStatus.OK, b"metrics")
FEW = 8


@pytest.fixture
def gate(make_client, clock, log, monkeypatch) -> Iterator[Gate]:
    monkeypatch.setattr("controller.gate.MAX_VERDICTS", FEW)
    gate = Gate(make_client(), clock, log)
    gate.start()
    yield gate
    gate.close()


@pytest.fixture
def route(gate) -> Route:
    return gate.guard("/metrics", lambda _: SAID)


def question(token: object) -> HttpRequest:
    """What a client with this token sends."""
    return HttpRequest(f"GET / HTTP/1.1\r\nAuthorization: Bearer {token}\r\n\r\n")


def ask(route: Route, authorization: str = "Bearer t") -> HttpAnswer:
    """The answer, once there is one."""
    request = HttpRequest(f"GET /metrics HTTP/1.1\r\nAuthorization: {authorization}\r\n\r\n")
    answers: list[HttpAnswer] = []

    def has_answered() -> bool:
        answer = route(request)
        answers.extend([answer] if answer else [])
        return bool(answer)

    eventually(has_answered, "an answer")
    return answers[-1]


def ask_once(route: Route, request: HttpRequest) -> int | None:
    answer = route(request)
    return answer.status if answer else None


def asked(server: ScriptedServer) -> list[Any]:
    """Path and spec of each review."""
    return [(each.path.partition("?")[0], each.body["spec"]) for each in server.seen]


def test_who_may_gets_through_and_the_reviews_say_who_and_what(route, server):
    server.steps = [KNOWN, ALLOWED]
    assert ask(route, "bearer  secret ") == SAID
    path = {"path": "/metrics", "verb": "get"}
    who = {"user": "prometheus", "uid": "u", "groups": ["g"], "extra": {"k": ["v"]}}
    assert asked(server) == [
        (TOKEN_REVIEWS, {"token": "secret"}),
        (ACCESS_REVIEWS, {**who, "nonResourceAttributes": path}),
    ]


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Bearer  ", "Basic dDp0", "t"], ids=["none", *"abcd"]
)
def test_without_a_token_nobody_is_asked(route, server, authorization):
    answer = ask(route, authorization)
    assert answer.status == 401
    assert answer.headers == ("WWW-Authenticate: Bearer",)
    assert server.seen == []


@pytest.mark.parametrize(
    ("steps", "status", "says"),
    [
        ([reply(201, {"status": {"error": "invalid audience"}})], 401, b": invalid audience\n"),
        ([reply(201, {"status": {}})], 401, b"Unauthorized"),
        ([reply(201, {"status": {"authenticated": "true", "user": PROMETHEUS}})], 401, b""),
        ([KNOWN, DENIED], 403, b"Forbidden: prometheus is not allowed to get /metrics\n"),
        ([reply(500, b"")], 500, b""),
        ([reply(403, b"")], 500, b""),
        ([reply(200, b"welcome")], 500, b""),
        ([reply(200, {})], 500, b""),
        ([reply(200, {"status": None})], 500, b""),
        ([reply(200, {"status": {"authenticated": True}})], 500, b""),
        ([KNOWN, reply(503, b"")], 500, b""),
        ([KNOWN, reply(200, {"status": []})], 500, b""),
    ],
)
def test_nobody_else_gets_through_and_each_is_told_why(route, server, steps, status, says):
    server.steps = steps
    answer = ask(route)
    assert answer.status == status
    assert says in answer.body


def test_verdicts_count_for_a_minute(route, server, clock):
    server.steps = [KNOWN, ALLOWED, KNOWN, DENIED]
    assert ask(route).status == 200
    clock.step(VERDICT_SECONDS - 0.1)
    assert ask(route).status == 200
    assert len(server.seen) == 2
    clock.step(0.2)
    assert ask(route).status == 403
    assert len(server.seen) == 4


def test_a_failure_counts_for_a_moment_only(route, server, clock):
    server.steps = [reply(500, b""), KNOWN, ALLOWED]
    assert ask(route).status == 500
    assert ask(route).status == 500
    clock.step(FAILURE_SECONDS + 0.1)
    assert ask(route).status == 200


def test_a_verdict_is_of_one_token(route, server):
    server.steps = [KNOWN, ALLOWED, reply(201, {"status": {}})]
    assert ask(route, "Bearer t").status == 200
    assert ask(route, "Bearer tt").status == 401


def test_an_api_server_that_hangs_holds_up_nobody_else(route, server, clock):
    server.steps = [KNOWN, ALLOWED, server.hang]
    assert ask(route, "Bearer known").status == 200
    hanging = HttpRequest("GET /metrics HTTP/1.1\r\nauthorization: Bearer new\r\n\r\n")
    assert route(hanging) is None
    assert ask(route, "Bearer known").status == 200
    clock.step(ASK_SECONDS + 0.1)
    assert ask_once(route, hanging) == 500
    server.released.set()


def test_tokens_without_number_are_refused_and_not_kept(route, server):
    server.steps = [server.hang]
    answers = [ask_once(route, question(number)) for number in range(MAX_ASKED + 1)]
    assert answers == [None] * MAX_ASKED + [503]
    server.released.set()


def test_a_reader_is_asked_about_before_tokens_that_nobody_knows(
    make_client, server, clock, log, monkeypatch
):
    monkeypatch.setattr("controller.gate.THREADS", 1)  # several would ask in any order
    with contextlib.closing(Gate(make_client(), clock, log)) as gate:
        gate.start()
        route = gate.guard("/metrics", lambda _: SAID)
        server.steps = [KNOWN, ALLOWED]
        assert ask(route, "Bearer reader") == SAID
        clock.step(VERDICT_SECONDS + 0.1)
        server.steps = [server.hang, reply(201, {"status": {}})]
        for token in (*range(MAX_ASKED), "reader"):
            assert route(question(token)) is None
            eventually(lambda: len(server.seen) == 3, "the first is asked about")
        server.released.set()
        eventually(lambda: len(server.seen) > 2 + MAX_ASKED, "all are asked about")
        assert asked(server)[3] == (TOKEN_REVIEWS, {"token": "reader"})


def test_unknown_tokens_make_room_for_each_other_only(gate, route, server):
    server.steps = [KNOWN, ALLOWED, reply(201, {"status": {}})]
    assert ask(route) == SAID
    for number in range(FEW + 5):
        assert ask(route, f"Bearer {number}").status == 401
    assert len(gate._refused) == FEW
    asked_before = len(server.seen)
    assert ask(route) == SAID
    assert len(server.seen) == asked_before, "it was known"


def test_those_who_may_are_bounded_too(gate, route, server):
    server.steps = [KNOWN, ALLOWED] * (FEW + 5)
    for number in range(FEW + 5):
        assert ask(route, f"Bearer {number}") == SAID
    assert len(gate._readers) == FEW


def test_whatever_goes_wrong_the_threads_go_on(gate, route, server, monkeypatch):
    server.steps = [KNOWN, ALLOWED]
    with monkeypatch.context() as patched:
        patched.setattr(gate, "_review", lambda *_: 1 // 0)
        assert [ask(route, f"Bearer {number}").status for number in range(5)] == [500] * 5
    assert ask(route) == SAID


def reviewers() -> list[threading.Thread]:
    """The threads that ask."""
    return [each for each in threading.enumerate() if each.name.startswith("review_")]


def test_the_end_waits_for_no_api_server(gate, route, server):
    server.steps = [server.hang]
    hanging, late = question("a"), question("b")
    assert route(hanging) is None
    eventually(lambda: server.seen, "the question")
    gate.close()
    assert any(each.is_alive() for each in reviewers()), "one still waits for its answer"
    assert all(each.daemon for each in reviewers()), "the process waits for none"
    assert ask_once(route, late) == 503
    server.released.set()
    eventually(lambda: not reviewers(), "end of the threads")
