"""What a run of the tests leaves behind is seen."""

from pathlib import Path

from tests.live.temporary import leftovers


def test_files_and_folders_of_clusters_are_left_behind_their_locks_are_not(tmp_path: Path) -> None:
    (tmp_path / "localcluster-0" / "cluster-a").mkdir(parents=True)
    (tmp_path / "localcluster-0" / "lock").touch()
    (tmp_path / "fleet-b").mkdir()
    (tmp_path / "c.log").touch()
    assert leftovers(tmp_path) == ["c.log", "fleet-b", "localcluster-0/cluster-a"]
