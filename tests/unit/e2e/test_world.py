"""What is missing for a real node is said in one line, with what to do about it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e import world

hidden_obstacle = world.hidden_obstacle


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with all that a real node needs; its root."""
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(world, "missing", lambda *_: [])
    monkeypatch.setattr(world, "hidden_obstacle", lambda *_: "")
    monkeypatch.setattr(world, "namespaces_obstacle", lambda: "")
    monkeypatch.setattr(world, "FILE_SYSTEMS", tmp_path / "filesystems")
    monkeypatch.setattr(world, "CGROUPS", tmp_path / "cgroup")
    (tmp_path / "filesystems").write_text("nodev\tsysfs\nnodev\toverlay\n")
    unified(tmp_path, "cpuset cpu io memory pids")
    return tmp_path


def unified(root: Path, controllers: str) -> None:
    """cgroups of version 2, alone."""
    (root / "cgroup").mkdir(exist_ok=True)
    (root / "cgroup" / "cgroup.controllers").write_text(f"{controllers}\n")


def hierarchies(root: Path, *names: str) -> None:
    """cgroups of version 1, alone."""
    (root / "cgroup" / "cgroup.controllers").unlink()
    for name in names:
        (root / "cgroup" / name).mkdir()
        (root / "cgroup" / name / "cgroup.procs").touch()


def test_version_2_alone_will_do() -> None:
    assert world.obstacle() == ""


def test_version_1_alone_will_do(machine: Path) -> None:
    hierarchies(machine, "cpu,cpuacct", "cpuset", "memory", "pids", "systemd")
    assert world.obstacle() == ""


OBSTACLES: list[tuple[Callable[[Path], object], str]] = [
    (lambda root: hierarchies(root, "systemd"), "controllers cpu, cpuset, memory, pids: boot"),
    (lambda root: hierarchies(root), "cgroups, version 1 or 2: mount them"),
    (lambda root: unified(root, "cpu cpuset pids"), "the cgroup controllers memory: boot"),
    (lambda root: (root / "filesystems").write_text("nodev\tsysfs\n"), "modprobe overlay"),
]


@pytest.mark.parametrize(("spoil", "words"), OBSTACLES, ids=["bare", "none", "no memory", "layers"])
def test_what_the_kernel_lacks_is_told(
    machine: Path, spoil: Callable[[Path], object], words: str
) -> None:
    spoil(machine)
    assert words in world.obstacle()
    assert "\n" not in world.obstacle()


def test_a_checkout_that_the_namespaces_would_hide_is_told() -> None:
    told = hidden_obstacle(Path("/srv/checkout"), Path("/tmp/checkout/.venv"))
    assert told == "a real node has a /tmp of its own: move /tmp/checkout/.venv out of there"
    assert hidden_obstacle(Path("/srv/checkout"), Path("/tmpfiles")) == ""
