"""A full disk is named in one line, with what to do; other errors are shown as they are."""

import errno
import os
from pathlib import Path

import pytest

from localcluster.machine import disk
from localcluster.machine.errors import BuildError
from localcluster.provision.environments import _download
from localcluster.provision.gobuild import Pins, ensure_built


@pytest.fixture(autouse=True)
def disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each folder is a disk of its own; Go's cache is the fullest."""
    for variable in ("XDG_CACHE_HOME", "GOCACHE", "GOMODCACHE", "PIP_CACHE_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    free = {tmp_path / "GOCACHE": 5e6}
    monkeypatch.setattr(disk, "_free_bytes", lambda folder: free.get(folder, 9e9))


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)),
        BuildError("cannot build it:\nlink: write a.o: no space left on device\nmore"),
    ],
    ids=["ours", "quota", "go's"],
)
def test_a_full_disk_is_named_in_one_line(error, tmp_path):
    assert disk.explain(error) == (
        f"the disk of {tmp_path / 'GOCACHE'} is full: make room there, or set GOCACHE"
        " to a folder on another disk, and do this again"
    )


def test_a_folder_that_go_cannot_make_is_named_with_its_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("GOPATH", str(tmp_path / "go"))
    monkeypatch.delenv("GOMODCACHE")
    said = (
        f"cannot build it:\ngo: could not create cache: mkdir {tmp_path}/go: read-only file system"
    )
    assert disk.explain(BuildError(f"{said}\nmore")) == (
        f"cannot write to {tmp_path}/go/pkg/mod (read-only file system): set GOMODCACHE"
        " to a folder that you can write to"
    )
    elsewhere = BuildError("mkdir /somewhere/else: read-only file system")
    assert disk.explain(elsewhere) == str(elsewhere)


def test_another_error_is_shown_as_it_is():
    assert disk.explain(BuildError("cannot build it")) == "cannot build it"


def test_the_disk_is_full_while_go_builds(tmp_path, monkeypatch):
    go = tmp_path / "path" / "go"
    go.parent.mkdir()
    go.write_text("#!/bin/sh\n[ $1 = env ] && echo go1.99 || { LC_ALL=C ls > /dev/full; }")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", str(go.parent), prepend=":")
    for name in ("go.mod", "go.sum"):
        (tmp_path / name).write_text("module fake\n\ngo 1.26.0\n")
    with pytest.raises(BuildError) as caught:
        ensure_built(Pins("Fake", "fake", "v1", tmp_path, {"it": "."}), lambda _text: None)
    assert "\n" not in disk.explain(caught.value)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            "Downloading paddlepaddle-2.6.2-cp311.whl (126.0 MB)",
            "paddlepaddle-2.6.2-cp311.whl (126.0 MB)",
        ),
        ("Using cached https://example.com/simple/six-1.0.whl (11 kB)", "six-1.0.whl (11 kB)"),
        ("Installing collected packages: six", "unpacking"),
        ("Collecting six==1.0 (from -r examples.txt (line 4))", ""),
    ],
)
def test_downloads_are_shown_with_their_sizes(line, shown):
    assert _download(line) == shown
