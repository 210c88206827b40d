"""Whatever others wrote is text on a terminal; columns hold for Chinese, too."""

from datetime import timedelta

import pytest

from pdj.text.tables import age, bar, duration, table
from pdj.text.terminal import Screen, pad, plain, shorten, width
from tests.memory.builders import NOW


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\r\nb", "a\\x0d\\x0ab"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("\x9b2J", "\\x9b2J"),
        ("\ud800", "\\ud800"),
        ("tab\tstays", "tab\tstays"),
        ("训练 done é", "训练 done é"),
    ],
)
def test_no_character_that_a_terminal_obeys_is_left(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_chinese_takes_two_columns() -> None:
    assert width("训练") == 4
    assert pad("训练", 6) == "训练  "
    assert shorten("训练作业", 5) == "训练…"


def test_tables_are_aligned() -> None:
    assert table([("A", "B"), ("训练", "x")]) == ["A      B", "训练   x"]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-3, "0s"), (0, "0s"), (59, "59s"), (61, "1m1s"), (3600, "1h"), (90000, "1d1h"), (4e6, "46d")],
)
def test_ages_are_those_of_kubectl(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown
    assert age(NOW - timedelta(seconds=seconds), NOW) == shown


def test_a_bar_is_full_only_when_all_is_done() -> None:
    assert bar(0, 4, 4) == "░░░░"
    assert bar(3, 4, 4) == "███░"
    assert bar(99, 100, 4) == "███░"
    assert bar(4, 4, 4) == "████"


def test_colours_are_for_terminals_alone() -> None:
    assert Screen(has_colour=False).paint("x", "red") == "x"
    assert Screen(has_colour=True).paint("x", "red", "bold") == "\033[31;1mx\033[0m"
