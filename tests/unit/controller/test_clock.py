"""The API server's time, by the `Date` of its answers, where this machine's clock is off."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from kube.clock import Clock

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)


class OffClock(Clock):
    """The machine's clocks as the test sets them."""

    shown, seconds = NOW, 100.0

    def wall(self) -> datetime:
        return self.shown

    def monotonic(self) -> float:
        return self.seconds


def answered(clock: Clock, behind_seconds: float) -> None:
    """An API server that is so far behind this machine's clock has answered at once."""
    date = format_datetime(clock.wall() - timedelta(seconds=behind_seconds), usegmt=True)
    clock.compare(date, clock.monotonic())


@pytest.mark.parametrize(
    ("behind_seconds", "shift"), [(600, 600), (-600, -600), (3600, 3600), (4, 0)]
)
def test_a_clock_that_is_off_is_put_right_and_one_that_is_about_right_stays(behind_seconds, shift):
    clock = OffClock()
    answered(clock, behind_seconds)
    assert (NOW - clock.now()).total_seconds() == pytest.approx(shift, abs=1 if shift else 0)
    assert clock.ahead().total_seconds() == pytest.approx(behind_seconds, abs=1)


def test_a_clock_that_is_set_between_two_answers_changes_nothing() -> None:
    clock = OffClock()
    answered(clock, 0)
    clock.shown, clock.seconds = NOW + timedelta(hours=1), 107.0
    assert abs(clock.now() - NOW - timedelta(seconds=7)) < timedelta(seconds=1)


def test_of_api_servers_that_differ_the_one_nearest_to_this_clock_counts() -> None:
    clock = OffClock()
    answered(clock, -600)
    for _ in range(20):
        clock.shown, clock.seconds = clock.shown + timedelta(seconds=7), clock.seconds + 7
        answered(clock, 0)
        answered(clock, -600)
        assert clock.now() == clock.shown


def test_an_api_server_whose_clock_is_set_is_followed_after_a_minute() -> None:
    clock = OffClock()
    answered(clock, 0)
    clock.shown, clock.seconds = NOW + timedelta(seconds=61), 161.0
    answered(clock, -600)
    assert abs(clock.now() - clock.shown - timedelta(seconds=600)) < timedelta(seconds=1)


@pytest.mark.parametrize("behind_seconds", [4.6, 600])
def test_time_neither_jumps_nor_runs_backwards_from_answer_to_answer(behind_seconds: float) -> None:
    """`Date` has whole seconds: of one clock it shows up to one second more or less."""
    clock, differences = OffClock(), set()
    for _ in range(20):
        clock.shown, clock.seconds = clock.shown + timedelta(seconds=0.3), clock.seconds + 0.3
        answered(clock, behind_seconds)
        differences.add(clock.shown - clock.now())
    assert len(differences) == 1


@pytest.mark.parametrize(
    "date",
    ["", "yesterday", "Wed, 99 Jul 2026 12:00:00 GMT", "Wed, 01 Jul 2026 99999999999:00:00 GMT"],
)
def test_what_is_no_time_is_not_compared_with(date: str) -> None:
    clock = OffClock()
    clock.compare(date, clock.monotonic())
    assert clock.now() == NOW


def test_an_answer_that_took_long_says_nothing_of_the_time() -> None:
    clock = OffClock()
    clock.seconds += 2
    clock.compare(format_datetime(NOW - timedelta(hours=1), usegmt=True), 100.0)
    assert clock.now() == NOW
