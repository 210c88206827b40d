"""A cgroup for the pods: below it is what a kubelet needs, and nothing of it stays."""

import os
from pathlib import Path

import pytest

from localcluster.machine.errors import LocalClusterError
from tests.e2e import cgroups


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the hierarchies are; nobody waits for processes to end."""
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    monkeypatch.setattr(cgroups, "LOCK", tmp_path.with_suffix(".lock"))
    monkeypatch.setattr(cgroups, "ENDING_SECONDS", 0.0)
    return tmp_path


def version_2(root: Path, given: str) -> Path:
    """One hierarchy, whose root gives these controllers to the cgroups below it."""
    (root / "cgroup.controllers").write_text("cpuset cpu io memory hugetlb pids\n")
    (root / "cgroup.subtree_control").write_text(f"{given}\n")
    return root / "cgroup.subtree_control"


def test_version_2_gives_a_kubelets_controllers_to_cgroups_below(root: Path) -> None:
    control = version_2(root, "cpu io memory pids")
    with cgroups.cgroup("pods"):
        assert control.read_text() == "+cpuset +hugetlb"
        assert (root / "pods").is_dir()
    assert not (root / "pods").exists()


def test_what_it_gives_already_is_let_be(root: Path) -> None:
    control = version_2(root, "cpuset cpu memory hugetlb pids")
    with cgroups.cgroup("pods"):
        assert control.read_text() == "cpuset cpu memory hugetlb pids\n"


def test_a_root_that_can_give_none_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container with a cgroup namespace, whose processes are at its root."""
    control = version_2(root, "")

    def refuse(*_: object) -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(Path, "write_text", refuse)
    with pytest.raises(LocalClusterError) as told, cgroups.cgroup("pods"):
        pass
    assert str(told.value) == (
        f"a real node needs cpu, cpuset, hugetlb, memory, pids in {control} (Device or resource"
        f" busy): move the processes of {root} into a cgroup below it"
    )


def test_version_1_has_one_in_each_hierarchy(root: Path) -> None:
    for name in ("cpuset", "memory"):
        (root / name).mkdir()
        (root / name / "cgroup.procs").touch()
    with cgroups.cgroup("pods"):
        assert (root / "cpuset" / "pods").is_dir()
        assert (root / "memory" / "pods").is_dir()
    assert not [*root.glob("*/pods")]


def test_what_an_earlier_run_has_left_goes(root: Path) -> None:
    version_2(root, "")
    (root / "pods" / "kubepods" / "pod").mkdir(parents=True)
    with cgroups.cgroup("pods"):
        assert [*(root / "pods").iterdir()] == []


def test_one_run_at_a_time_has_it(root: Path) -> None:
    version_2(root, "")
    with cgroups.cgroup("pods"):
        told = f"process {os.getpid()} runs a real node: wait for its end"
        with pytest.raises(LocalClusterError, match=told), cgroups.cgroup("pods"):
            pass
        assert (root / "pods").is_dir()
    with cgroups.cgroup("pods"):
        assert (root / "pods").is_dir()


def test_processes_of_an_earlier_run_are_told(root: Path) -> None:
    version_2(root, "")
    (root / "pods" / "kubepods").mkdir(parents=True)
    (root / "pods" / "kubepods" / "process").touch()  # as little to be removed as a process
    with pytest.raises(LocalClusterError, match="of an earlier real node are left"):
        cgroups.remove("pods")
