"""What a log says over several reads, whatever programs write and nodes' clocks say."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from api.objects import format_time
from api.training import TrainingProgress
from controller.work.followed_log import REPORT_SECONDS, FollowedLog
from reconcile.model.training import read_progress

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
HOUR = timedelta(hours=1)


def log_of(*texts: bytes, ahead: timedelta = timedelta(), first: int = 0) -> bytes:
    """Lines that were written every ten seconds, the first of them at NOW."""
    times = (NOW + ahead + timedelta(seconds=10 * (first + i)) for i in range(len(texts)))
    stamps = (time.strftime("%Y-%m-%dT%H:%M:%S.%f000Z").encode() for time in times)
    return b"".join(stamp + b" " + text + b"\n" for stamp, text in zip(stamps, texts, strict=True))


def steps(*numbers: int) -> list[bytes]:
    return [b"iter: %d/1000, loss: 0.5" % number for number in numbers]


class Follower(FollowedLog):
    """A log that is read every half minute."""

    def __init__(self, attempt: int = 1, *known: Any, **also: Any) -> None:
        super().__init__("uid", attempt, TrainingProgress(*known, **also))
        self.reads = 0

    def see(self, log: bytes):
        self.reads += 1
        seconds = 30.0 * self.reads
        self.take(log, seconds, NOW + timedelta(seconds=seconds))
        assert self.reading is not None
        return self.reading.progress


@pytest.fixture
def followed() -> Follower:
    return Follower()


def test_lines_that_were_read_before_are_not_read_again(followed):
    followed.see(log_of(*steps(1, 2, 3)))
    progress = followed.see(log_of(*steps(2, 3, 4, 5), first=1))
    assert (progress.step, progress.first_step) == (5, 1)
    assert progress.last_step_time == NOW + timedelta(seconds=40)


def test_a_total_that_the_last_leader_has_seen_is_still_known():
    read = Follower(1, 1, 400, 1000).see(log_of(b"global_step: 500"))
    assert (read.total, read.percent) == (1000, 50)
    assert Follower(2, 1, 400, 1000).see(log_of(b"global_step: 500")).total is None


def test_what_scrolled_out_of_the_window_is_still_known(followed):
    followed.see(log_of(b"Saving model checkpoint to out/checkpoint-500", *steps(499)))
    progress = followed.see(log_of(*steps(501), first=3))
    assert progress.checkpoint.step == 500
    progress = followed.see(log_of(*[b"no step here"] * 40, first=4))
    assert (progress.step, progress.percent, progress.checkpoint.step) == (501, 50, 500)


def test_a_bar_that_grows_is_output(followed):
    bar = b"\r 10%|#| 100/1000 [00:10<01:30, 10.0it/s]\r 20%|##| 200/1000 [00:20<01:20, 10.0it/s]"
    followed.see(log_of(bar[:41]))
    progress = followed.see(log_of(bar))
    assert (progress.step, followed.reading.silent_seconds) == (200, 0)
    followed.see(log_of(bar))
    assert followed.reading.silent_seconds == 30


def test_a_log_that_was_rotated_away_is_silence(followed):
    followed.see(log_of(*steps(1, 2)))
    progress = followed.see(b"")
    assert (progress.step, followed.reading.silent_seconds) == (2, 30)
    followed.see(log_of(*steps(3), first=6))
    assert followed.reading.silent_seconds == 0


@pytest.mark.parametrize("ahead", [HOUR, -HOUR])
def test_a_nodes_wrong_clock_is_corrected_once_new_lines_came(followed, ahead):
    followed.see(log_of(*steps(1), ahead=ahead, first=2))
    progress = followed.see(log_of(*steps(1, 2), ahead=ahead, first=2))
    age = NOW + timedelta(seconds=60) - progress.last_output_time
    assert timedelta() <= age <= timedelta(seconds=35)
    assert progress.last_step_time == progress.last_output_time
    followed.see(log_of(*steps(1, 2), ahead=ahead, first=2))
    assert followed.reading.silent_seconds == 30


def test_a_clock_that_is_set_back_hides_no_line(followed):
    followed.see(log_of(*steps(1, 2), ahead=HOUR))
    progress = followed.see(log_of(*steps(1, 2), ahead=HOUR) + log_of(*steps(3), first=3))
    assert (progress.step, followed.reading.silent_seconds) == (3, 0)


def test_the_same_step_for_ever_is_output_without_a_step(followed):
    for number in range(10):
        followed.see(log_of(*steps(7, 7, 7), first=3 * number))
    assert followed.reading.silent_seconds == 0
    assert followed.reading.stepless_seconds == 270


def test_steps_that_count_anew_are_new_steps_wherever_a_read_ends(followed):
    twice = (b"step 50/100", b"step 100/100") * 2
    for number in range(10):
        followed.see(log_of(*twice, first=4 * number))
    assert followed.reading.stepless_seconds == 0


def test_the_pace_is_that_of_the_last_minutes(followed):
    """After an hour at a step in three seconds, a step in half a minute."""
    for number in range(30):
        followed.see(log_of(*steps(10 * number), first=3 * number))
    for number in range(30, 60):
        progress = followed.see(log_of(*steps(270 + number), first=3 * number))
    left = 1000 - progress.step
    assert progress.remaining_seconds == pytest.approx(left * 30, rel=0.01)


def test_a_job_is_told_every_five_minutes_in_any_case(followed):
    told = []
    for number in range(25):
        followed.see(log_of(b"working", first=3 * number))
        told.append(followed.is_telling)
    assert sum(told) == 1 + 24 * 30 // REPORT_SECONDS
    followed.see(log_of(b"paddlejob: step=1", first=75))
    followed.see(log_of(b"paddlejob: step=1 quiet=600", first=78))
    assert followed.is_telling, "a pause is announced"


def test_a_job_is_told_when_its_losses_turn_and_never_else(followed):
    told = []
    for number, loss in enumerate([b"0.5"] + [b"nan"] * 27 + [b"0.5"] * 3):
        followed.see(log_of(b"iter: %d/9999, loss: %s" % (number, loss), first=number))
        told += [number] if followed.is_telling else []
    assert told == [0, 1, 3, 13, 20, 28], "13: five minutes after the last one"


@pytest.mark.parametrize("stamp", [b"", b"9999-12-31T23:59:59Z", b"0001-01-01T00:00:00+14:00"])
def test_lines_with_impossible_times_are_dropped(followed, stamp):
    followed.see(stamp + b" iter: 5/1000\n")
    progress = followed.see(stamp + b" iter: 6/1000\n")
    assert (progress.step, followed.reading.silent_seconds) == (None, 30)


@pytest.mark.parametrize(
    ("epoch", "line", "seconds"),
    [
        ("2", b"epoch 2 step 5 loss 0.5", 300),
        ("2", b"step 5 loss 0.5", 300),
        ("1", b"epoch 2 step 5 loss 0.5", 0),
        ("1/9", b"epoch 2 loss 0.5", 0),
    ],
)
def test_the_same_step_of_another_epoch_is_a_new_step(epoch, line, seconds):
    """Where each epoch begins with step 1 again, and the leader has changed."""
    followed = Follower(1, 1, 5, epoch=epoch, stepless_seconds=300)
    assert followed.take(log_of(line), 0.0, NOW).stepless_seconds == seconds


def test_a_new_leader_goes_on_with_the_silence_that_another_saw():
    """Only of the same last line, and only of the same step."""
    seen = {"last_output_time": "2026-01-02T03:04:15Z", "silent_seconds": 200}
    same, later = (Follower(1, 1, 2, **seen, stepless_seconds=300) for _ in range(2))

    def see(followed, *numbers):
        followed.see(log_of(*steps(*numbers)))
        return followed.reading.silent_seconds, followed.reading.stepless_seconds

    assert [see(same, 1, 2), see(same, 1, 2)] == [(200, 300), (230, 330)]
    assert see(later, 1, 2, 3) == (0, 0)


@pytest.mark.parametrize("attempt", [1, 2])
def test_a_new_leader_knows_of_a_step_whose_line_is_gone(attempt):
    followed = Follower(attempt, 1, 2)
    reading = followed.take(log_of(b"evaluating"), 30.0, NOW + timedelta(seconds=30))
    assert (reading.progress.step, reading.stepped_before) == (None, attempt == 1)


@pytest.mark.parametrize("log", [b"", log_of(b"evaluating")], ids=["rotated", "scrolled"])
@pytest.mark.parametrize("attempt", [1, 2])
def test_a_new_leader_keeps_to_a_pause_whose_line_is_gone(log: bytes, attempt: int):
    until = NOW + timedelta(seconds=600)
    followed = Follower(attempt, 1, 2, quiet_until=format_time(until))
    told = [followed.see(log).quiet_until for _ in range(3)]
    assert told[-1] == (until if attempt == 1 else None)
    assert followed.see(log_of(b"paddlejob: step=3", first=12)).quiet_until is None


@pytest.mark.parametrize(
    "text",
    ["0000-01-01T00:00:00Z", "2016-12-31T23:59:60Z", "2026-01-02T03:14:05",
     "9999-12-31T23:59:59-01:00"],
)  # fmt: skip
def test_a_pause_that_only_the_api_server_can_read_is_none(text: str):
    followed = Follower(1, 1, 2, quiet_until=text)
    followed.see(log_of(b"paddlejob: step=2 quiet=600"))
    progress = followed.see(log_of(b"evaluating", first=3))
    assert progress.quiet_until == NOW + timedelta(seconds=600)
    assert followed.reading is not None
    assert read_progress(TrainingProgress(), followed.reading).quiet_until


@pytest.mark.parametrize("ahead", [HOUR, -HOUR])
@pytest.mark.parametrize("last", [b"evaluating", b"paddlejob: step=2 quiet=600"])
def test_a_new_leader_keeps_to_a_pause_on_a_node_with_a_wrong_clock(last: bytes, ahead: timedelta):
    until = NOW + timedelta(seconds=600)
    followed = Follower(1, 1, 2, quiet_until=format_time(until))
    log = log_of(last, ahead=ahead)
    for read in range(1, 4):
        told = followed.see(log).quiet_until
        assert told is not None
        assert until <= told <= until + timedelta(seconds=60)
        log += log_of(b"still evaluating", ahead=ahead, first=3 * read)
