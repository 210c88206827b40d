"""Which exit code stands for a signal, and what the signal is called."""

import signal

import pytest

from api.signals import is_of_child, signal_name, signal_of


@pytest.mark.parametrize(
    ("exit_code", "number"),
    [
        *((code, None) for code in (0, 1, 2, 15, 101, 126, 127, 128, 193, 200, 224, 255)),
        *((128 + number, number) for number in (1, 2, 6, 9, 11, 15, 64)),
        *((256 - number, number) for number in (2, 6, 9, 11, 15, 31)),
    ],
)
def test_exit_code_tells_the_signal(exit_code: int, number: int | None) -> None:
    assert signal_of(exit_code) == number


@pytest.mark.parametrize(("exit_code", "is_child"), [(137, False), (247, True), (255, False)])
def test_launchers_code_is_told_from_ones_own(exit_code: int, is_child: bool) -> None:
    assert is_of_child(exit_code) == is_child


@pytest.mark.parametrize("each", [each for each in signal.Signals if each < 32], ids=str)
def test_signals_have_their_names(each: signal.Signals) -> None:
    assert signal_name(each) in (each.name, "SIGIO")  # SIGPOLL is another name of it


@pytest.mark.parametrize("number", [0, 34, 64])
def test_a_signal_without_a_name_has_its_number(number: int) -> None:
    assert signal_name(number) == f"signal {number}"
