"""The settings that PaddlePaddle's launcher prints are one line of a log; no other line is lost."""

from collections.abc import Iterable

import pytest

from pdj.gather.fold import INSTEAD, Fold
from pdj.gather.merge import LogLine, Source

STAMP = "2026-11-28 18:47:45,057"
RULE = f"LAUNCH INFO {STAMP} {'-' * 50}"
SETTINGS = [
    f"LAUNCH INFO {STAMP} -----------  Configuration  ----------------------",
    f"LAUNCH INFO {STAMP} auto_parallel_config: None",
    f"LAUNCH INFO {STAMP} servers: ",
    f"LAUNCH INFO {STAMP} training_script_args: ['--lr: 3', '{'-' * 40}']",
    RULE,
]
BY_VARIABLE = {
    "2.6.2": "LAUNCH WARNNING args ips will be overridden by env: PADDLE_IPS value: 10.0.0.1",
    "3.3.1": "LAUNCH WARNING args ips will be overridden by env: PADDLE_IPS value: 10.0.0.1",
}
BETWEEN = [
    f"LAUNCH INFO {STAMP} args reset by env PADDLE_TRAINER_ENDPOINTS",
    "['10.0.0.1:36000', '10.0.0.2:36000']",
    f"LAUNCH WARNING {STAMP} Host ip reset to 10.0.0.1",
]
JOB = f"LAUNCH INFO {STAMP} Job: default, mode collective, replicas 1[1:1], elastic False"
ONE = INSTEAD.decode()
OWN = [
    "-----------  Configuration Arguments -----------",
    "batch_size: 32",
    "-" * 48,
    "INFO LAUNCH INFO is a word",
    "LAUNCH INFO lr: 3",
    f"my LAUNCH INFO {STAMP} rank: 3",
    f"step 3 LAUNCH INFO {STAMP} {'-' * 50}",
]


def fold(texts: Iterable[str], made: Fold | None = None, worker: int = 0) -> list[str]:
    """What remains of these lines of a worker."""
    source = Source(f"train-worker-{worker}", f"uid-{worker}", "worker", worker, 1, "paddle")
    lines = [LogLine(at, str(at), source, text.encode()) for at, text in enumerate(texts)]
    return [line.text.decode() for line in (made or Fold()).fold(lines)]


@pytest.mark.parametrize("version", BY_VARIABLE)
def test_one_line_stands_for_settings_and_says_how_to_see_them(version: str) -> None:
    first = BY_VARIABLE[version]
    shown = fold([first, first, *BETWEEN, *SETTINGS, JOB, "step 1"])
    assert shown == [ONE, *BETWEEN, JOB, "step 1"]
    assert "--launcher-settings" in ONE
    assert "launcher_settings=True" in ONE


@pytest.mark.parametrize("at", range(len(SETTINGS) + 1))
def test_a_program_that_prints_among_them_loses_nothing(at: int) -> None:
    mixed = [*SETTINGS[:at], *OWN, *SETTINGS[at:], *OWN]
    assert [line for line in fold(mixed) if line != ONE] == [*OWN, *OWN]


@pytest.mark.parametrize("first", range(1, len(SETTINGS)))
def test_a_log_that_begins_among_them_has_one_line_for_the_rest(first: int) -> None:
    assert fold([*SETTINGS[first:], JOB, *OWN]) == [ONE, JOB, *OWN]


def test_each_start_of_a_launcher_has_a_line() -> None:
    first = BY_VARIABLE["3.3.1"]
    start = [first, *SETTINGS, JOB, "step 1"]
    assert fold(start * 2) == [ONE, JOB, "step 1"] * 2
    cut = [*SETTINGS[:3], *start]
    assert fold(cut) == [ONE, JOB, "step 1"], "killed in the middle"


def test_lines_after_the_settings_stay_whatever_they_look_like() -> None:
    after = [RULE, f"LAUNCH INFO {STAMP} rank: 3"]
    assert fold([*SETTINGS, *after]) == [ONE, *after]


def test_logs_of_two_workers_do_not_mix() -> None:
    made = Fold()
    assert fold(SETTINGS[:2], made) == [ONE]
    assert fold([JOB, *OWN], made, worker=1) == [JOB, *OWN]
    assert fold([*SETTINGS[2:], JOB], made) == [JOB]
    assert fold(SETTINGS, made, worker=1) == [ONE]
