"""The set-up of `make run`: both halves side by side, interrupted at each step, and twice at once.

Go and Python are scripts here, which take no time and can be held at a step.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from examples.quickstart import __main__ as quickstart
from localcluster.machine import clock
from localcluster.machine.process import Command, Process
from localcluster.machine.together import together
from tests.live import patience
from tests.live.processes import command_lines

GO = """#!/bin/sh
case " $HOLD " in *" $1 "*) touch "$HELD-$1"; exec sleep 9999 ;; esac
case $1 in
env) echo go1.99.0 ;;
build)
  while [ "$1" != -o ]; do shift; done
  for name in server kube-apiserver kube-controller-manager kube-scheduler kubectl; do
    echo built > "$2/$name"; chmod +x "$2/$name"
  done ;;
esac
"""
PYTHON = """#!/bin/sh
case " $HOLD " in *" $2 "*) touch "$HELD-$2"; exec sleep 9999 ;; esac
case $2 in
venv)
  for folder; do :; done
  mkdir -p "$folder/bin" "$folder/lib/python3.11/site-packages"
  cp "$0" "$folder/bin/python" ;;
esac
"""
RUN = """
import sys
from pathlib import Path
from examples.quickstart import __main__ as quickstart
from localcluster.provision import environments
from localcluster.provision.training import WITH_SERVERS, Interpreter, TrainingPython
from localcluster.machine.errors import LocalClusterError

def start(config):
    raise LocalClusterError("everything is there")

fake = Interpreter("3.11.1", Path(sys.argv.pop()), Path("/"))
environments.training = lambda *_: TrainingPython(WITH_SERVERS, fake)
quickstart.Cluster = start
sys.exit(quickstart.main())
"""
READY = "error: everything is there"
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts `make run` without make; held at a step, if one is named."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in (("go", GO), ("python", PYTHON)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    with ExitStack() as stack:

        def start(hold: str = "", cache: str = "cache") -> subprocess.Popen[str]:
            mine = {"HOLD": hold, "HELD": str(tmp_path / "held")}
            mine |= {"PATH": f"{programs}:{os.environ['PATH']}"}
            mine |= {"XDG_CACHE_HOME": str(tmp_path / cache), "KUBEBUILDER_ASSETS": ""}
            run = subprocess.Popen(
                [sys.executable, "-c", RUN, str(programs / "python")],
                env={**os.environ, **mine},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            stack.callback(run.kill)
            return stack.enter_context(run)

        yield start


def held(folder: Path, step: str) -> bool:
    return clock.wait_until((folder / f"held-{step}").exists, patience.SECONDS)


def last_line(run: subprocess.Popen[str]) -> str:
    """The only line of its errors, after it has ended."""
    [line] = run.communicate(timeout=patience.SECONDS)[1].splitlines()
    return line


@pytest.mark.parametrize("step", ["list", "build", "venv", "ensurepip", "pip"])
def test_the_next_call_goes_on_after_an_interruption(step, start, tmp_path):
    first = start(step)
    assert held(tmp_path, step)
    first.send_signal(signal.SIGINT)
    assert last_line(first) == "stopped; nothing is left running; make run goes on from here"
    assert first.returncode == 130
    assert clock.wait_until(lambda: str(tmp_path) not in command_lines(), patience.SECONDS)
    assert last_line(start()) == READY


def test_the_second_of_one_user_waits_for_the_first(start, tmp_path):
    first = start("build pip")
    assert held(tmp_path, "build")
    assert held(tmp_path, "pip")
    second = start()
    assert second.stdout
    waits = sorted(second.stdout.readline() for _ in range(2))
    pid = first.pid
    assert waits == [
        f"waiting for process {pid}, which installs examples\n",
        f"waiting for the build of process {pid}\n",
    ]
    first.kill()
    assert last_line(second) == READY


def test_two_users_do_not_wait_for_each_other(start, tmp_path):
    start("pip")
    assert held(tmp_path, "pip")
    assert last_line(start(cache="another")) == READY


def test_the_model_of_another_user_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(quickstart, "OUTPUT", tmp_path / "output")
    assert quickstart.own_output() == tmp_path / "output"
    (tmp_path / "output").mkdir()
    assert quickstart.own_output() == tmp_path / "output"
    monkeypatch.setattr(os, "getuid", lambda: 7)
    assert quickstart.own_output() == tmp_path / "output-7"


def test_the_default_jobs_save_where_the_quickstart_looks():
    for job in (quickstart.JOB, quickstart.COLLECTIVE_JOB):
        assert f"path: {quickstart.OUTPUT}\n" in job.read_text()


def test_steps_run_side_by_side():
    meeting = threading.Barrier(2)
    together(*[lambda: meeting.wait(patience.SECONDS)] * 2)


def test_an_error_is_raised_while_the_other_step_still_runs():
    error, end, ended = ValueError("no"), threading.Event(), threading.Event()

    def fail() -> None:
        raise error

    def wait() -> None:
        end.wait(patience.SECONDS)
        ended.set()

    with pytest.raises(ValueError, match="no") as caught:
        together(wait, fail)
    assert caught.value is error
    end.set()
    assert ended.wait(patience.SECONDS)


@pytest.mark.parametrize("stacks", [0, 2])
def test_the_last_words_of_a_go_program_are_not_its_stacks(stacks, tmp_path):
    log = "started\ngoroutine 7 is fine\npanic: the disk is full\n"
    log += "\ngoroutine 1 [running]:\nmain.main()\n\t/main.go:3 +0x1d\n" * stacks
    command = Command("it", ["printf", "%s", log], tmp_path / "log", tmp_path)
    with Process(command) as process:
        assert clock.wait_until(lambda: not process.is_running, patience.SECONDS)
        assert process.last_log_lines(1) == "panic: the disk is full"


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "ALL_PROXY"])
def test_a_process_of_a_cluster_uses_no_proxy(monkeypatch, tmp_path, name):
    """An API server asks nodes for logs, at addresses of which a proxy knows nothing."""
    monkeypatch.setenv(name, "http://127.0.0.1:9")
    command = Command("it", ["sh", "-c", f"echo ${name}."], tmp_path / "log", tmp_path)
    with Process(command) as process:
        assert clock.wait_until(lambda: not process.is_running, patience.SECONDS)
    assert (tmp_path / "log").read_text() == ".\n"
