"""A cluster runs with the locked packages, whatever the user's environment has."""

import subprocess
import sys
from pathlib import Path

import pytest

from localcluster.provision import ownpackages
from tests.live.wheel import write_wheel


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, and pip without an index."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    return tmp_path / "cache"


def test_an_environment_with_the_locked_packages_is_used_as_it_is(cache):
    assert ownpackages.ensure_python(print) == Path(sys.executable)
    assert not cache.exists()


def test_another_version_is_not_enough():
    assert ownpackages.is_installed(f"pytest=={pytest.__version__} --hash=sha256:0")
    assert not ownpackages.is_installed("pytest==1.0 --hash=sha256:0")
    assert not ownpackages.is_installed("no-such-package==1.0 --hash=sha256:0")


def test_missing_packages_are_installed_apart(cache, tmp_path, monkeypatch):
    """Also one that PYTHONPATH names, which the cluster does not see later."""
    wheel = write_wheel(tmp_path)
    there = tmp_path / "there"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(there), str(wheel)]
    subprocess.run(pip, check=True)
    monkeypatch.setenv("PYTHONPATH", str(there))
    lock = tmp_path / "lock.txt"
    digest = subprocess.run(
        [sys.executable, "-m", "pip", "hash", str(wheel)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()[-1]
    lock.write_text(f"demo==1 \\\n    {digest}\n")
    monkeypatch.setattr(ownpackages, "LOCKS", [lock])
    lines: list[str] = []
    python = ownpackages.ensure_python(lines.append)
    assert cache in python.parents and lines[0].startswith("installing the packages")
    subprocess.run([python, "-I", "-c", "import demo"], check=True)
    assert ownpackages.ensure_python(lines.append) == python
