"""What the cache keeps: all that was used of late."""

import os
from pathlib import Path

import pytest

from localcluster.__main__ import main
from localcluster.build.environments import READY_MARK, Recipe, ensure_installed
from localcluster.machine import clock


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with two environments that were last used 40 days ago."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "paddlejob-operator"
    for name in ("old", "used"):
        (folder / name).mkdir(parents=True)
        (folder / name / READY_MARK).write_text("12345")
        (folder / f"{name}.lock").touch()
        long_ago = clock.now() - 40 * 86_400
        os.utime(folder / name, (long_ago, long_ago))
    return folder


def test_what_was_not_used_for_long_is_removed(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ensure_installed(cache / "used", Recipe("used", ()), print)
    assert main(["prune"]) == 0
    assert sorted(path.name for path in cache.iterdir()) == ["used", "used.lock"]
    assert "removed old" in capsys.readouterr().err


def test_longer_times_keep_more(cache: Path) -> None:
    assert main(["prune", "--days", "41"]) == 0
    assert len([*cache.iterdir()]) == 4


def test_an_empty_cache_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["prune"]) == 0
