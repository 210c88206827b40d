"""Logs: JSON for machines, columns for people, never lost because of a value."""

import io
import json
import logging

import pytest

from controller.logs import (
    MAX_TRACEBACK_BYTES,
    MAX_VALUE_BYTES,
    REPEAT_SECONDS,
    build_log,
    forward_library_warnings,
)


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


def test_json_is_one_object_a_line(stream):
    log = build_log("json", "info", stream).bind(job="ns/train")
    log.warning("write_failed", error="no")
    line = json.loads(stream.getvalue())
    assert line | {"time": ""} == {
        "event": "write_failed",
        "level": "warning",
        "job": "ns/train",
        "error": "no",
        "time": "",
    }


def test_an_exception_stands_in_the_line(stream):
    try:
        raise KeyError("spec")
    except KeyError:
        build_log("json", "info", stream).exception("reconcile_raised")
    assert "KeyError" in json.loads(stream.getvalue())["exception"]


TEXTS = {
    "plain": "x",
    "a quote": '"',
    "a control character": "\x00",
    "beyond ASCII": "\u98de",
    "beyond 16 bits": "\U0001f6f6",
    "half a character": "\ud800",
}


@pytest.mark.parametrize("character", TEXTS.values(), ids=TEXTS.keys())
@pytest.mark.parametrize("format_", ["json", "text"])
def test_a_value_is_cut_in_its_middle(stream, format_, character):
    log = build_log(format_, "info", stream)
    log.warning("create_refused", error=f"Invalid: {character * 300_000}: wrong", name="n")
    line = stream.getvalue()
    assert len(line.encode(errors="replace")) < 2 * MAX_VALUE_BYTES
    assert "Invalid: " in line
    assert " [300016 characters] " in line
    assert ": wrong" in line


def test_values_that_are_no_text_are_cut_too(stream):
    build_log("json", "info", stream).info("x", kinds=["a"], number=3, all=["b" * 5000])
    line = json.loads(stream.getvalue())
    assert (line["kinds"], line["number"]) == (["a"], 3)
    assert len(line["all"]) <= MAX_VALUE_BYTES


@pytest.mark.parametrize("format_", ["json", "text"])
def test_a_traceback_is_cut_between_its_place_and_its_words(stream, format_):
    try:
        raise KeyError("x" * 300_000 + "the end")
    except KeyError:
        build_log(format_, "info", stream).exception("reconcile_raised")
    assert len(stream.getvalue()) < MAX_TRACEBACK_BYTES + MAX_VALUE_BYTES
    assert "Traceback" in stream.getvalue()
    assert "the end" in stream.getvalue()


@pytest.mark.parametrize("format_", ["json", "text"])
@pytest.mark.parametrize("evil", ["\x1b[2J", "\x9b31m", "a\rb", "\u202e"])
def test_no_control_character_of_others_reaches_a_terminal(stream, format_, evil):
    log = build_log(format_, "info", stream)
    log.warning("create_refused", error=evil, kinds=[evil])
    try:
        raise ValueError(evil)
    except ValueError:
        log.exception("reconcile_raised")
    assert stream.getvalue().replace("\n", "").isprintable()


@pytest.mark.parametrize("is_cluster", [True, False], ids=["cluster", "terminal"])
def test_auto_is_json_in_a_cluster(stream, monkeypatch, is_cluster):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    if is_cluster:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    build_log("auto", "info", stream).info("x")
    assert stream.getvalue().startswith("{") == is_cluster


def test_warnings_of_libraries_come_out_alike(stream):
    handlers, level = logging.root.handlers[:], logging.root.level
    try:
        forward_library_warnings(build_log("json", "info", stream))
        logging.getLogger("urllib3").warning("pool is %s", "full")
    finally:
        logging.root.handlers[:] = handlers
        logging.root.setLevel(level)
    line = json.loads(stream.getvalue())
    assert (line["logger"], line["message"]) == ("urllib3", "pool is full")


def test_a_warning_that_repeats_is_counted(stream, clock):
    log = build_log("json", "info", stream, clock)
    for seconds in (0, 4, 8, REPEAT_SECONDS):
        log.warning("watch_failed", kind="pods", error="away", retry_after_seconds=seconds)
        log.info("listed")
        clock.step(4)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["event"] for line in lines].count("listed") == 4
    assert [line.get("repeated", 0) for line in lines if line["event"] == "watch_failed"] == [0]
    clock.step(REPEAT_SECONDS)
    log.warning("watch_failed", kind="pods", error="away", retry_after_seconds=1)
    assert json.loads(stream.getvalue().splitlines()[-1])["repeated"] == 3


@pytest.mark.parametrize("other", [{"kind": "nodes"}, {"error": "forbidden"}], ids=str)
def test_another_warning_is_no_repetition(stream, clock, other):
    log = build_log("json", "info", stream, clock)
    first = {"kind": "pods", "error": "away"}
    for values in (first, first | other):
        log.warning("watch_failed", **values)
    assert len(stream.getvalue().splitlines()) == 2
