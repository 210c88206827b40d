"""`python -m localcluster`, as a user runs it."""

import functools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from localcluster.machine import clock
from tests.live import patience
from tests.live.processes import command_lines, pid_of

Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]
KUBECTL = ["sh", "-c", "kubectl get --raw /readyz"]


class Running(NamedTuple):
    """How to run the command, what two `up`s at once said, and the cluster's state folder."""

    run: Run
    up: Done
    other: Done
    folder: Path


def localcluster(state: Path, *arguments: str) -> Done:
    return subprocess.run(
        [sys.executable, "-m", "localcluster", *arguments],
        env={**os.environ, "XDG_STATE_HOME": str(state)},
        capture_output=True,
        text=True,
        timeout=patience.SECONDS,
    )


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Runs the command with its state in the test's folder; stops what is left at the end."""
    yield functools.partial(localcluster, tmp_path)
    localcluster(tmp_path, "down")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A cluster that one of two `up`s at once has started."""
    state = tmp_path_factory.mktemp("running")
    run = functools.partial(localcluster, state)
    with ThreadPoolExecutor() as pool:
        up, other = pool.map(lambda _: run("up", "--nodes", "0"), range(2))
    yield Running(run, up, other, state / "paddlejob-operator" / "default")
    run("down")


def exported(done: Done) -> dict[str, str]:
    shell = ["sh", "-c", 'eval "$1"; env', "sh", done.stdout]
    environment = subprocess.run(shell, capture_output=True, text=True, check=True).stdout
    return dict(line.split("=", 1) for line in environment.splitlines() if "=" in line)


def test_up_leaves_a_cluster_that_kubectl_uses(running: Running) -> None:
    assert running.up.returncode == 0, running.up.stderr
    environment = exported(running.up)
    assert subprocess.run(KUBECTL, env=environment, capture_output=True).stdout == b"ok"


def test_two_ups_at_once_start_one_cluster_and_say_how_to_use_it(running: Running) -> None:
    both = (running.up, running.other)
    assert [each.returncode for each in both] == [0, 0], both
    assert running.up.stdout == running.other.stdout
    assert sum("ready after" in each.stderr for each in both) == 1
    assert sum("cluster default is already running" in each.stderr for each in both) == 1


def test_images_are_added_to_a_running_cluster(running: Running, tmp_path: Path) -> None:
    added = running.run("images", "add", f"mine:1={tmp_path}")
    assert added.returncode == 0, added.stderr
    listed = f"mine:1  /workspace={tmp_path}  examples  {running.folder}/images.yaml"
    assert listed in running.run("images", "list").stdout
    assert running.run("images", "remove", "mine:1").returncode == 0
    assert "mine:1" not in running.run("images", "list").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["add", "mine=/no/such"], "no such folder: /no/such", id="folder"),
        pytest.param(["add", "Mine=/tmp"], "not an image name: Mine", id="name"),
        pytest.param(["add", "m=/tmp", "--requirements", "/no/such"], "/no/such", id="packages"),
        pytest.param(["remove", "mine"], "no image mine was added", id="unknown"),
        pytest.param(["add", "m=/tmp", "--name", "x"], "no cluster x is running", id="not running"),
    ],
)
def test_images_that_cannot_be_are_refused(running, arguments, words):
    refused = running.run("images", *arguments)
    assert refused.returncode
    assert words in refused.stderr
    assert "Traceback" not in refused.stderr


def test_dead_component_is_started_again(running: Running) -> None:
    log = running.folder / "logs" / "daemon.log"
    os.kill(pid_of("/kube-apiserver", running.folder), 9)
    died = "kube-apiserver died: starting it again"
    assert clock.wait_until(lambda: died in log.read_text(), patience.SECONDS)
    environment = exported(running.up)
    assert clock.wait_until(
        lambda: subprocess.run(KUBECTL, env=environment, capture_output=True).returncode == 0,
        patience.SECONDS,
    )


def test_a_cluster_whose_daemon_was_killed_comes_back_and_down_leaves_nothing(running):
    os.kill(int((running.folder / "lock").read_text()), 9)
    assert clock.wait_until(lambda: running.run("kubeconfig").returncode == 1, patience.SECONDS)
    assert running.run("up", "--nodes", "0").returncode == 0
    down = running.run("down")
    assert down.returncode == 0
    assert "is stopped" in down.stderr
    assert [each.name for each in running.folder.parent.iterdir()] == [".lock"]
    assert clock.wait_until(lambda: str(running.folder) not in command_lines(), patience.SECONDS)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["killed", "Ctrl-C"])
def test_interrupted_up_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    lock = tmp_path / "paddlejob-operator" / "default" / "lock"
    with subprocess.Popen(
        [sys.executable, "-m", "localcluster", "up", "--nodes", "0"],
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as up:
        assert clock.wait_until(lambda: lock.exists(), patience.SECONDS)
        up.send_signal(number)
    assert clock.wait_until(lambda: str(tmp_path) not in command_lines(), patience.SECONDS)


def test_start_that_fails_says_why_and_leaves_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "paddlejob-operator").mkdir()
    (tmp_path / "paddlejob-operator" / "default").write_text("in the way")
    up = run("up", "--nodes", "0")
    assert up.returncode == 1
    assert "File exists" in up.stderr
    assert "Traceback" not in up.stderr
    assert clock.wait_until(lambda: str(tmp_path) not in command_lines(), patience.SECONDS)
    (tmp_path / "paddlejob-operator" / "default").unlink()


def test_node_that_the_api_server_refuses_ends_the_start(run: Run, tmp_path: Path) -> None:
    up = run("up", "--capacity", "cpu=many")
    assert up.returncode == 1
    assert "quantities must match" in up.stderr
    assert clock.wait_until(lambda: str(tmp_path) not in command_lines(), patience.SECONDS)


PODS = """
apiVersion: v1
kind: Pod
metadata: {name: first}
spec:
  restartPolicy: Never
  containers:
  - {name: c, image: busybox, command: [sh, -c, "echo first; exit 0"]}
---
apiVersion: v1
kind: Pod
metadata: {name: second}
spec:
  restartPolicy: Never
  containers:
  - {name: c, image: busybox, command: [sh, -c, "echo last words; exit 1"]}
"""


def test_run_follows_pods_to_their_end(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pods.yaml").write_text(PODS)
    done = run("run", str(tmp_path / "pods.yaml"))
    assert done.returncode == 1, done.stderr
    for word in ("pod first: Succeeded", "pod second: Failed", "last words"):
        assert word in done.stdout
