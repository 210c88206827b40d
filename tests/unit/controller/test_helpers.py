"""Helpers: they work side by side, and nobody waits for one that is busy."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.work.helpers import Helpers
from tests.live import patience

HELPERS = 4
ROOT = Path(__file__).parents[3]


@pytest.fixture
def helpers() -> Iterator[Helpers]:
    helpers = Helpers(HELPERS, "help")
    yield helpers
    helpers.close()


def test_a_worker_does_not_wait_for_what_helpers_do_for_another(helpers):
    end, busy = threading.Event(), threading.Barrier(HELPERS + 2)
    over = []

    def hang(_: int) -> None:
        busy.wait(patience.SECONDS)
        over.append(end.wait(patience.SECONDS))

    slow = threading.Thread(target=helpers.map, args=(hang, range(HELPERS + 1)))
    slow.start()
    busy.wait(patience.SECONDS)
    assert helpers.map(str, range(5)) == ["0", "1", "2", "3", "4"]
    assert not over, "it waited until the others were through"
    end.set()
    slow.join()


@pytest.mark.parametrize("at", [0, 1, 2])
def test_all_calls_have_ended_when_what_one_raises_reaches_the_worker(helpers, at):
    """The worker then gives its job to another one, which must not meet these writes."""
    raised, written = threading.Event(), []

    def write(number: int) -> None:
        if number == at:
            raised.set()
            raise KeyError("a bug")
        raised.wait(10)
        threading.Event().wait(0.1)  # a bug of `map` shows if it is through before this is over
        written.append(number)

    with pytest.raises(KeyError):
        helpers.map(write, range(3))
    assert sorted(written) == sorted({0, 1, 2} - {at})


def test_helpers_that_were_closed_leave_the_work_to_the_worker(helpers):
    helpers.close()
    assert helpers.map(str, range(3)) == ["0", "1", "2"]


HANGS = """
import runpy, sys, threading
from controller.manager import Manager
from controller.work.helpers import Helpers

def run(self):
    helpers, begun = Helpers(1, "apply"), threading.Event()
    def hang(_):
        begun.set()
        threading.Event().wait()
    threading.Thread(target=helpers.map, args=(hang, [1, 2]), daemon=True).start()
    begun.wait()
    helpers.close()
    print("stopped")
    return 7

Manager.run = run
sys.argv = ["controller", "--kubeconfig", sys.argv[1], "--leader-elect=false"]
sys.argv += ["--metrics-bind-address=0", "--health-probe-bind-address=127.0.0.1:0"]
runpy.run_module("controller", run_name="__main__")
"""


def test_process_ends_although_a_write_hangs(tmp_path):
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {}}],
    }
    path = tmp_path / "config"
    path.write_text(json.dumps(config))
    ended = subprocess.run(
        [sys.executable, "-c", HANGS, path],
        capture_output=True,
        text=True,
        timeout=patience.SECONDS,
        cwd=ROOT,
    )
    assert (ended.returncode, ended.stdout.strip()) == (7, "stopped"), ended.stderr


def test_what_is_raised_reaches_the_worker(helpers):
    with pytest.raises(ZeroDivisionError):
        helpers.map(lambda number: 1 / number, [1, 0, 1])
