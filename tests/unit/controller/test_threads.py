"""A thread that ends when it should not is never overlooked."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from controller.threads import Threads
from tests.live import patience


@pytest.fixture
def deaths() -> threading.Semaphore:
    return threading.Semaphore(0)


@pytest.fixture
def threads(clock, log, deaths) -> Threads:
    return Threads(clock, log, deaths.release)


def raise_error() -> None:
    raise RuntimeError("lost")


def raise_exit() -> None:
    raise SystemExit(0)


@pytest.mark.parametrize(
    "run", [raise_error, raise_exit, lambda: None], ids=["raises", "exits", "returns"]
)
def test_a_thread_that_ends_is_a_death(threads, deaths, run):
    threads.start("watch", run)
    assert deaths.acquire(timeout=patience.SECONDS)
    threads.join(30)
    assert threads.dead() == ["watch"]


def test_a_return_after_the_stop_is_none(threads, deaths):
    stop = threading.Event()
    threads.start("watch", lambda: stop.wait(patience.SECONDS) and None)
    assert threads.dead() == []
    threads.expect_returns()
    assert threads.join(0) == ["watch"], "it has not ended"
    stop.set()
    assert threads.join(30) == []
    assert not deaths.acquire(blocking=False)


def test_a_thread_that_has_yet_to_start_is_not_dead(threads, monkeypatch):
    start = threading.Thread.start
    dead: list[str] = []

    def ask_and_start(thread: threading.Thread) -> None:
        dead.extend(threads.dead())
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", ask_and_start)
    threads.expect_returns()
    threads.start("watch", lambda: None)
    threads.join(30)
    assert dead == []


@pytest.mark.skipif(not Path("/proc/thread-self").exists(), reason="there is no Linux /proc")
def test_the_kernel_knows_the_name(threads):
    told: list[str] = []
    threads.expect_returns()
    threads.start(
        "watch-of-a-long-name", lambda: told.append(Path("/proc/thread-self/comm").read_text())
    )
    assert threads.join(30) == []
    assert told == ["watch-of-a-long\n"]


def test_sigusr1_prints_what_every_thread_is_doing(tmp_path: Path) -> None:
    config = tmp_path / "kubeconfig"
    config.write_text(
        "{apiVersion: v1, kind: Config, current-context: c, users: [{name: u, user: {}}], "
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}], "
        "contexts: [{name: c, context: {cluster: c, user: u}}]}"
    )
    ports = ("--metrics-bind-address=0", "--health-probe-bind-address=0")
    command = [sys.executable, "-m", "controller", f"--kubeconfig={config}", *ports]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as operator:
        assert operator.stderr is not None
        try:
            assert "error" in operator.stderr.readline()  # it asks a server that is not there
            operator.send_signal(signal.SIGUSR1)
            line = next(line for line in operator.stderr if "/kube/watch.py" in line)
        finally:
            operator.kill()
    assert line.startswith("  File ")
