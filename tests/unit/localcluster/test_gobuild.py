"""Files of a Go module that are kept beside what is built of it."""

import itertools
from pathlib import Path

import pytest

from localcluster.provision import gobuild

FILES = ("a/one.yaml", "b/two.yaml")


@pytest.fixture
def pins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> gobuild.Pins:
    """Pins whose files are to be kept below the temporary folder."""
    monkeypatch.setattr(gobuild.Pins, "home", lambda _: tmp_path / "kept")
    return gobuild.Pins("a program", "program", "v1", Path("nowhere"), {}, files=FILES)


def test_a_missing_file_is_copied_and_one_that_is_there_stays(pins, tmp_path, monkeypatch):
    module, kept = tmp_path / "module", tmp_path / "kept"
    for folder, name in itertools.product((module, kept), FILES):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(f"{folder.name} {name}")
    (kept / "a" / "one.yaml").unlink()
    monkeypatch.setattr(gobuild, "_module_folder", lambda *_: module)
    gobuild.ensure_built(pins)
    found = {str(p.relative_to(kept)): p.read_text() for p in kept.rglob("*") if p.is_file()}
    assert found == {"a/one.yaml": "module a/one.yaml", "b/two.yaml": "kept b/two.yaml"}
