"""Where images' archives are kept, nothing else stays."""

from pathlib import Path

import pytest

from tests.e2e.images import IMAGES, base_archive, ensure_images


def test_what_a_build_has_left_that_was_killed_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    archives = [base_archive(), *(image.archive() for image in IMAGES)]
    left = archives[0].parent / "build-killed" / "store"
    left.mkdir(parents=True)
    for archive in archives:
        archive.touch()
    ensure_images()
    assert not left.parent.exists()
    assert all(archive.exists() for archive in archives)
