"""A soak's trainings: what must not be in their status is seen, and nothing else."""

from typing import Any

import pytest

from tests.soak.checks import check_read
from tests.soak.trainings import begins_to_stall, is_of_training, wrong_stall

Raw = dict[str, Any]
STALL = {"attempt": 1, "reason": "TrainingStalled"}
KILLED = {"attempt": 1, "reason": "PodFailed"}
TOLD = {"type": "TrainingStalled", "status": "True", "reason": "NoOutput"}
OVER = TOLD | {"status": "False", "reason": "TrainsAgain"}


def a_job(name: str, **status: Any) -> Raw:
    return {"kind": "PaddleJob", "metadata": {"name": name, "namespace": "a"}, "status": status}


@pytest.mark.parametrize(
    ("name", "status", "says"),
    [
        ("pauses-saves", {"conditions": [TOLD]}, "only paused"),
        ("pauses-saves", {"conditions": [OVER]}, "only paused"),
        ("pauses-saves", {"failures": [STALL]}, "only paused"),
        ("pauses-saves", {"phase": "Failed"}, "only paused"),
        ("pauses-saves", {"failures": [KILLED], "failureCount": 1}, ""),
        ("hangs-stuck-0", {"failures": [STALL], "failureCount": 1, "conditions": [TOLD]}, ""),
        ("hangs-stuck-0", {"failures": [STALL, STALL], "failureCount": 2}, "for it again"),
        ("hangs-stuck-0", {"failures": [STALL | {"attempt": 2}]}, "for it again"),
        ("hangs-stuck-0", {"failures": [STALL], "failureCount": 2}, "was charged 2 times"),
        ("single-1-0", {"failures": [STALL], "conditions": [TOLD]}, ""),
    ],
)
def test_a_wrong_word_about_a_training_is_seen(name: str, status: Raw, says: str) -> None:
    wrong = " ".join(wrong_stall(a_job(name, **status)))
    assert says in wrong
    assert bool(wrong) == bool(says)


def test_only_a_hang_that_is_told_begins_to_stall() -> None:
    assert begins_to_stall(a_job("hangs-stuck-0", conditions=[TOLD]))
    assert not begins_to_stall(a_job("hangs-stuck-0", conditions=[OVER]))
    assert not begins_to_stall(a_job("pauses-saves", conditions=[TOLD]))


def test_writes_about_trainings_are_told_from_others() -> None:
    assert is_of_training("patch paddlejobs/status soak-a/pauses-saves: 200")
    assert not is_of_training("patch paddlejobs/status soak-a/single-1-0: 200")


def test_a_log_that_was_not_read_is_seen() -> None:
    assert check_read(a_job("x", phase="Running", attempt=2, progress={"attempt": 1}))
    assert not check_read(a_job("x", phase="Running", attempt=2, progress={"attempt": 2}))
    assert not check_read(a_job("x", phase="Completed", attempt=2))
