"""Logs: JSON for machines, columns for people, never lost because of a value."""

import io
import json
import logging

import pytest

from controller.logs import build_log, forward_library_warnings


def test_json_is_one_object_a_line():
    stream = io.StringIO()
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


def test_an_exception_stands_in_the_line():
    stream = io.StringIO()
    try:
        raise KeyError("spec")
    except KeyError:
        build_log("json", "info", stream).exception("reconcile_raised")
    assert "KeyError" in json.loads(stream.getvalue())["exception"]


def test_text_is_readable():
    stream = io.StringIO()
    build_log("text", "info", stream).info("working", workers=8)
    assert "working" in stream.getvalue()
    assert "workers=8" in stream.getvalue()


@pytest.mark.parametrize("is_cluster", [True, False], ids=["cluster", "terminal"])
def test_auto_is_json_in_a_cluster(monkeypatch, is_cluster):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    if is_cluster:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    stream = io.StringIO()
    build_log("auto", "info", stream).info("x")
    assert stream.getvalue().startswith("{") == is_cluster


def test_what_is_below_the_level_is_not_written():
    stream = io.StringIO()
    build_log("json", "warning", stream).info("x")
    assert stream.getvalue() == ""


def test_warnings_of_libraries_come_out_alike():
    stream = io.StringIO()
    handlers, level = logging.root.handlers[:], logging.root.level
    try:
        forward_library_warnings(build_log("json", "info", stream))
        logging.getLogger("urllib3").warning("pool is %s", "full")
    finally:
        logging.root.handlers[:] = handlers
        logging.root.setLevel(level)
    line = json.loads(stream.getvalue())
    assert (line["logger"], line["message"]) == ("urllib3", "pool is full")
