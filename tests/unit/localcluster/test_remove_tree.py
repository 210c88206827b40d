"""What a cluster's folder holds goes with it, whatever the rights to it."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster.machine.statefolder import remove_tree

NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of a user who is not root, whom modes of folders stop."""
    with tempfile.TemporaryDirectory(dir="/tmp") as parent:  # the tests' own is for root alone
        folder = Path(parent, "run")
        if os.geteuid():
            yield folder
            return
        try:
            os.chown(parent, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        except OSError:
            pytest.skip("this user namespace has no other user")
        try:
            yield folder
        finally:
            os.seteuid(0)


def test_a_folder_that_its_user_cannot_read_goes_too(folder: Path) -> None:
    inner = folder / "layers" / "work" / "work"
    inner.mkdir(parents=True)
    (inner / "dirty").touch()
    inner.chmod(0)
    remove_tree(folder)
    assert not folder.exists()


def test_a_folder_that_a_link_leads_to_keeps_its_rights(folder: Path) -> None:
    folder.mkdir()
    other = folder.parent / "other"
    other.mkdir(mode=0)
    (folder / "link").symlink_to(other)
    remove_tree(folder)
    assert not folder.exists()
    assert not other.stat().st_mode & 0o777
    other.chmod(0o700)
