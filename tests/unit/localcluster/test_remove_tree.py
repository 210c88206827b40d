"""What a cluster's folder holds goes with it, whatever the rights to it."""

from pathlib import Path

from localcluster.machine.statefolder import remove_tree


def test_a_folder_that_its_user_cannot_read_goes_too(nobodys_folder: Path) -> None:
    folder = nobodys_folder / "run"
    inner = folder / "layers" / "work" / "work"
    inner.mkdir(parents=True)
    (inner / "dirty").touch()
    inner.chmod(0)
    remove_tree(folder)
    assert not folder.exists()


def test_a_folder_that_a_link_leads_to_keeps_its_rights(nobodys_folder: Path) -> None:
    folder, other = nobodys_folder / "run", nobodys_folder / "other"
    folder.mkdir()
    other.mkdir(mode=0)
    (folder / "link").symlink_to(other)
    remove_tree(folder)
    assert not folder.exists()
    assert not other.stat().st_mode & 0o777
    other.chmod(0o700)
