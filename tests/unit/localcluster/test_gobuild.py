"""Files of a Go module that are kept beside what is built of it."""

from pathlib import Path

import pytest

from localcluster import gobuild

PINS = gobuild.Pins("a program", "program", "v1", Path("nowhere"), ())


def test_a_missing_file_is_copied_and_one_that_is_there_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, kept = tmp_path / "module", tmp_path / "kept"
    for name in ("a/one.yaml", "b/two.yaml"):
        (module / name).parent.mkdir(parents=True)
        (module / name).write_text(f"new {name}")
    kept.mkdir()
    (kept / "two.yaml").write_text("old")
    monkeypatch.setattr(gobuild, "_module_folder", lambda *_: module)
    files = {"a/one.yaml": kept / "below" / "one.yaml", "b/two.yaml": kept / "two.yaml"}
    gobuild.ensure_files(PINS, "example.com/module", files)
    found = {str(p.relative_to(kept)): p.read_text() for p in kept.rglob("*") if p.is_file()}
    assert found == {"below/one.yaml": "new a/one.yaml", "two.yaml": "old"}


def test_nothing_is_fetched_where_nothing_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.yaml").touch()
    monkeypatch.setattr(gobuild, "_module_folder", None)
    gobuild.ensure_files(PINS, "example.com/module", {"a/one.yaml": tmp_path / "one.yaml"})
