"""Which binaries are built, with which Go, and what is said meanwhile."""

import subprocess
import sys
from pathlib import Path

import pytest

from localcluster.build import golang
from localcluster.build.binaries import PINS, ensure_binaries
from localcluster.build.gobuild import Pins, ensure_built
from localcluster.machine import clock
from localcluster.machine.errors import BuildError
from localcluster.machine.filelock import FileLock

DEADLINE_SECONDS = 60.0
ALL = [*PINS.binaries]
HOLDER = """
import pathlib, sys
from localcluster.machine.filelock import FileLock
lock = FileLock(pathlib.Path(sys.argv[1]))
assert lock.acquire(wait=False)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no ready binaries."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return tmp_path / "paddlejob-operator"


@pytest.fixture
def pins(tmp_path: Path) -> Pins:
    """A module that Go cannot build."""
    folder = tmp_path / "go"
    folder.mkdir()
    (folder / "go.mod").write_text("module broken\n\ngo 1.20\n")
    (folder / "go.sum").write_text("")
    return Pins("Broken", "broken", "v1", folder, {"it": "broken/no-such-package"})


def put_programs(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).touch(mode=0o755)


def test_nothing_is_built_when_all_is_there() -> None:
    put_programs(PINS.binaries_folder(), ALL)
    told: list[str] = []
    assert ensure_binaries(told.append) == PINS.binaries_folder()
    assert told == []


def test_ready_binaries_are_taken_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_programs(tmp_path / "assets", ALL)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))
    assert ensure_binaries() == tmp_path / "assets"


def test_incomplete_ready_binaries_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_programs(tmp_path / "assets", ["etcd", "kube-apiserver", "kubectl"])
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))
    with pytest.raises(BuildError, match="lacks kube-controller-manager, kube-scheduler"):
        ensure_binaries()


@pytest.mark.parametrize("name", ["go.sum", "main.go"])
def test_other_pins_or_sources_are_another_folder(pins: Pins, name: str) -> None:
    before = pins.binaries_folder()
    (pins.folder / name).write_text("\n")
    assert pins.binaries_folder() != before
    assert before.parent.name.startswith("broken-v1-")


def test_build_that_fails_says_what_go_said_and_leaves_no_binary(pins: Pins) -> None:
    told: list[str] = []
    with pytest.raises(BuildError, match=r"cannot build it:\n.*no-such-package"):
        ensure_built(pins, told.append)
    assert list(pins.binaries_folder().iterdir()) == []
    assert any("it (1 of 1): building" in line for line in told)


def test_second_build_waits_for_the_first_and_builds_nothing(cache: Path) -> None:
    lock = PINS.binaries_folder().parent / "lock"
    told: list[str] = []

    def first_one_ends(line: str) -> None:
        told.append(line)
        put_programs(PINS.binaries_folder(), ALL)
        holder.kill()

    with holds(lock) as holder:
        ensure_binaries(first_one_ends)
    assert told == [f"waiting for the build of process {holder.pid}"]


def test_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    with holds(tmp_path / "lock") as holder:
        assert not lock.acquire(wait=False)
        holder.kill()
        assert clock.wait_until(lambda: lock.acquire(wait=False), DEADLINE_SECONDS)
    lock.release()


@pytest.mark.parametrize(
    ("text", "version"),
    [
        pytest.param("go1.26.8\n", (1, 26, 8), id="patch"),
        pytest.param("1.26", (1, 26, 0), id="no patch"),
        pytest.param("go1.27rc1", (1, 27, 0), id="candidate"),
        pytest.param("devel", (), id="none"),
    ],
)
def test_versions_compare(text: str, version: tuple[int, ...]) -> None:
    assert golang.parse_version(text) == version


@pytest.mark.parametrize(
    ("version", "is_new_enough"),
    [("go1.25.9", False), ("go1.26.0", True), ("go1.27.1", True), ("", False)],
)
def test_installed_go_is_taken_when_new_enough(
    tmp_path: Path, version: str, is_new_enough: bool
) -> None:
    go = tmp_path / "go"
    go.write_text(f"#!/bin/sh\necho {version}\n")
    go.chmod(0o755)
    assert golang.is_new_enough(str(go), "1.26.0") is is_new_enough


def test_go_that_does_not_run_is_not_taken(tmp_path: Path) -> None:
    assert not golang.is_new_enough(str(tmp_path / "no-go"), "1.26.0")


def holds(lock: Path) -> "subprocess.Popen[str]":
    """A process that holds the lock until it is killed."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(lock)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder
