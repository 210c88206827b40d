"""One command builds all programs of a folder of modules; what is half written is not kept."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from localcluster.machine.errors import BuildError
from localcluster.machine.report import Progress
from localcluster.provision.gobuild import (
    LARGEST_BYTES,
    UNFINISHED,
    Pins,
    ensure_built,
    memory_settings,
)

PACKAGES = {"etcd": "example.com/server/v3", "tool": "example.com/cmd/tool"}
FAKE_GO = """#!/bin/sh
case $1 in
env) echo go1.99.0 ;;
list) echo 'go: downloading example.com/server/v3 v3.1.0'; printf 'a\\t%s\\tgo.mod\\n' "$PWD" ;;
build)
  echo "$*" >> "$PWD/calls"
  echo a
  if [ -e "$PWD/broken" ]; then echo 'a.go:1: no'; exit 1; fi
  while [ "$1" != -o ]; do shift; done
  for name in server tool; do printf built > "$2/$name"; chmod +x "$2/$name"; done ;;
esac
"""


@pytest.fixture
def pins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pins:
    """Two programs, and a Go that builds them in no time."""
    go = tmp_path / "path" / "go"
    go.parent.mkdir()
    go.write_text(FAKE_GO)
    go.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "path"), prepend=":")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "go"
    folder.mkdir()
    (folder / "go.mod").write_text("module fake\n\ngo 1.26.0\n")
    (folder / "go.sum").touch()
    return Pins("Fake", "fake", "v1", folder, PACKAGES)


def calls(pins: Pins) -> list[str]:
    return (pins.folder / "calls").read_text().splitlines()


def quiet(_text: str) -> None:
    """Nobody reads the progress."""


def test_one_command_builds_all_that_is_missing(pins):
    folder = ensure_built(pins, quiet)
    assert sorted(each.name for each in folder.iterdir()) == ["etcd", "tool"]
    ensure_built(pins, quiet)
    assert [line.split()[-2:] for line in calls(pins)] == [list(pins.binaries.values())]


def test_only_what_is_missing_is_built(pins):
    folder = ensure_built(pins, quiet)
    (folder / "etcd").unlink()
    ensure_built(pins, quiet)
    assert calls(pins)[-1].endswith(f"{UNFINISHED} {PACKAGES['etcd']}")


def test_a_program_that_is_half_written_is_built_again(pins):
    folder = ensure_built(pins, quiet)
    (folder / "tool").write_text("bui")
    ensure_built(pins, quiet)
    assert (folder / "tool").read_text() == "built"


def test_what_a_killed_build_has_left_is_not_used(pins):
    left = pins.home() / UNFINISHED
    left.mkdir(parents=True)
    (left / "tool").write_text("bui")
    folder = ensure_built(pins, quiet)
    assert (folder / "tool").read_text() == "built"
    assert not left.exists()


def test_a_build_that_fails_shows_what_failed_and_the_next_one_goes_on(pins):
    (pins.folder / "broken").touch()
    with pytest.raises(BuildError, match=r"^cannot build etcd, tool:\na\.go:1: no\n.*next call"):
        ensure_built(pins, quiet)
    (pins.folder / "broken").unlink()
    assert pins.missing_binaries(ensure_built(pins, quiet)) == []


@pytest.mark.parametrize(("shares", "has_settings"), [(8, True), (1, False), (0, False)])
def test_garbage_stays_where_there_is_memory_for_it(shares, has_settings, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    settings = memory_settings(shares * LARGEST_BYTES)
    assert settings == (
        {"GOGC": "off", "GOMEMLIMIT": str(2 * LARGEST_BYTES)} if has_settings else {}
    )


def test_the_bar_estimates_the_rest_from_the_speed_so_far(monkeypatch):
    times = iter([100.0, 130.0])
    monkeypatch.setattr("localcluster.machine.clock.monotonic", lambda: next(times))
    progress = Progress(100.0)
    assert progress.add(1) == "[--------------------]   1%"
    assert progress.add(24) == "[#####---------------]  25%, about 2 min left"
    assert re.search(r"100%$", progress.add(80))


def test_packages_that_are_seldom_busy_are_compiled_without_inlining(pins):
    ensure_built(replace(pins, not_inlined=("example.com/cmd/...",)), quiet)
    (call,) = calls(pins)
    everywhere, seldom = "-gcflags=all=-dwarf=false", "-gcflags=example.com/cmd/...=-dwarf=false -l"
    assert f"{everywhere} {seldom} -ldflags" in call  # of two that match, Go takes the last
