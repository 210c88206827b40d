"""Background clusters while another command is at work."""

import fcntl
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from localcluster.cluster.config import ClusterConfig
from localcluster.commands import background
from localcluster.machine import clock, statefolder
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.filelock import FileLock
from tests.live import patience


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state folder of the cluster `mine`."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return statefolder.folder_of("mine")


@pytest.fixture
def daemon(folder: Path) -> Iterator[FileLock]:
    """One that has begun to start the cluster."""
    lock = FileLock(folder / statefolder.LOCK)
    lock.acquire()
    yield lock
    lock.release()


def test_an_up_waits_for_another_and_for_its_cluster(folder, daemon):
    told: list[str] = []
    other = FileLock(folder.parent / ".lock")
    other.acquire()
    with ThreadPoolExecutor() as pool:
        start = pool.submit(background.start, "mine", ClusterConfig(), told.append)
        assert clock.wait_until(lambda: bool(told), patience.SECONDS)
        assert told == [
            f"another up or down is running (process {os.getpid()}): waiting for its end"
        ]
        other.release()
        with pytest.raises(LocalClusterError, match="mine is starting, or ending"):
            background.kubeconfig_of("mine")
        assert not start.done()
        (folder / background.CONFIG).touch()
        assert start.result(patience.SECONDS) is False
    assert len(told) == 1


def test_a_cluster_of_another_installation_is_named(folder):
    """Its modules have other names there: those of a wheel are below `paddlejob`."""
    folder.mkdir(parents=True)
    (folder / background.CONFIG).write_bytes(b"cno_such_package.config\nClusterConfig\n.")
    with pytest.raises(LocalClusterError, match="mine was started by another installation"):
        background.config_of("mine")


def test_two_may_ask_at_once_whether_a_cluster_runs(folder):
    lock = FileLock(folder / statefolder.LOCK)
    lock.acquire()
    lock.release()
    with lock.path.open() as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        assert background.running_pid("mine") is None


def test_a_file_in_the_way_is_no_cluster(folder):
    folder.parent.mkdir()
    folder.write_text("in the way")
    assert background.running_pid("mine") is None
