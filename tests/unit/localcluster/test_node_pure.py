"""The parts of the node that only compute."""

import pytest

from localcluster.node.pod.backoff import RestartBackoff
from localcluster.node.runtime.logs import LogFile, LogQuery, read_log
from localcluster.node.spec.env import expand
from localcluster.node.spec.quantity import parse_quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [("500m", "0.5"), (2, "2"), ("1.5Gi", "1610612736"), ("1e3", "1000"), ("1k", "1000")],
)
def test_quantities(text, value):
    assert str(parse_quantity(text).normalize().to_integral_value()) == value or (
        float(parse_quantity(text)) == float(value)
    )


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(A)", "1"),
        ("$$(A)", "$(A)"),
        ("$(B)", "$(B)"),
        ("$A", "$A"),
        ("$$", "$"),
        ("$(A", "$(A"),
        ("x$(A)y$(A)", "x1y1"),
    ],
)
def test_references(text, expanded):
    assert expand(text, {"A": "1"}) == expanded


def test_delays_double_up_to_five_minutes():
    backoff = RestartBackoff(10, first_is_free=True)
    delays = []
    for _ in range(8):
        backoff.failed(now=0)
        delays.append(backoff.seconds)
    assert delays == [0, 10, 20, 40, 80, 160, 300, 300]


def test_a_long_run_starts_the_delays_anew():
    backoff = RestartBackoff(10, first_is_free=True)
    for _ in range(3):
        backoff.failed(now=0)
    backoff.failed(now=0, ran_seconds=601)
    assert backoff.left_seconds(now=0) == 0


def test_a_log_without_a_last_newline_is_shown_as_written(tmp_path):
    log = LogFile(tmp_path / "0.log")
    log.write("stdout", b"one\ntw")
    log.write("stdout", b"o")
    log.end("stdout")
    log.end("stderr")
    assert log.complete.is_set()
    assert b"".join(read_log(log.path, LogQuery(), lambda: True)) == b"one\ntwo"
