"""A guarded command ends with its owner, and takes all its descendants along."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localcluster.machine import clock
from localcluster.machine.errors import StartError
from localcluster.machine.process import Command, Process
from localcluster.machine.report import run_to_end
from tests.live import patience
from tests.live.processes import processes_in

ORPHAN = "(setsid sh -c 'echo $$ > orphan; exec sleep 300' &) ; sleep 300"
OWNS = """
import sys, pathlib
from localcluster.machine.process import Command, Process
folder = pathlib.Path(sys.argv[1])
process = Process(Command("it", ["sh", "-c", sys.argv[2]], folder / "log", folder))
sys.stdin.read()
"""
WAITS = """
import sys, pathlib
from localcluster.machine.report import run_to_end
run_to_end(["sh", "-c", sys.argv[2]], "it", lambda text: None, pathlib.Path(sys.argv[1]))
"""
Start = Callable[..., Process]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Process] = []

    def start(script: str, grace_seconds: float = 0.0) -> Process:
        arguments = ["sh", "-c", script]
        command = Command("it", arguments, tmp_path / "log", tmp_path, {}, grace_seconds)
        started.append(Process(command))
        return started[-1]

    yield start
    for process in started:
        process.stop(0)


def read_pid(path: Path) -> int:
    assert clock.wait_until(lambda: path.exists() and path.read_text() != "", patience.SECONDS)
    return int(path.read_text())


def test_error_ends_with_the_last_log_lines(start):
    process = start("seq 100; exit 3")
    assert clock.wait_until(lambda: not process.is_running, patience.SECONDS)
    with pytest.raises(StartError, match=r"it died \(3\):\n86\n(\d+\n)*100$"):
        process.raise_if_dead()


def test_stop_takes_orphaned_descendants(start, tmp_path):
    process = start(ORPHAN)
    read_pid(tmp_path / "orphan")
    process.stop(0)
    assert processes_in(tmp_path) == []


def test_grace_lets_the_command_clean_up(start, tmp_path):
    process = start("trap 'touch cleaned; exit 0' TERM; touch ready; sleep 300 & wait", 10.0)
    assert clock.wait_until((tmp_path / "ready").exists, patience.SECONDS)
    process.stop()
    assert (tmp_path / "cleaned").exists()


def test_command_gets_default_signals(start, tmp_path):
    process = start("grep SigIgn /proc/self/status > ignored")
    assert clock.wait_until(lambda: not process.is_running, patience.SECONDS)
    ignored = int((tmp_path / "ignored").read_text().split()[1], 16)
    # The C library keeps two for its threads, which nobody can reset.
    assert not [each for each in signal.valid_signals() if ignored >> (each - 1) & 1]


@pytest.mark.parametrize("program", [OWNS, WAITS], ids=["owner", "who waits for its end"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_everything_ends_with_its_owner(tmp_path, program, number):
    owner = [sys.executable, "-c", program, str(tmp_path), ORPHAN]
    with subprocess.Popen(owner, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        orphan = read_pid(tmp_path / "orphan")
        assert orphan in processes_in(tmp_path)
        process.send_signal(number)
    assert clock.wait_until(lambda: processes_in(tmp_path) == [], patience.SECONDS)


def test_command_ends_with_its_guard(start, tmp_path):
    process = start(ORPHAN)
    read_pid(tmp_path / "orphan")
    os.kill(process._guard.pid, signal.SIGKILL)
    assert clock.wait_until(lambda: process.pid not in processes_in(tmp_path), patience.SECONDS)
    for each in processes_in(tmp_path):  # only a guard knows of those
        os.kill(each, signal.SIGKILL)


def test_a_command_whose_end_is_awaited_tells_all(tmp_path):
    script = "cat; pwd; echo wrong >&2; exit 7"
    code, said = run_to_end(["sh", "-c", script], "it", lambda _text: None, tmp_path)
    assert (code, said) == (7, f"{tmp_path}\nwrong\n")


def test_a_command_that_ended_before_its_guard_takes_no_signal(start):
    process = start("sleep 300")
    ended = subprocess.Popen(["true"])
    ended.wait()
    process.pid = ended.pid
    process.signal(signal.SIGTERM)
    assert process.is_running
