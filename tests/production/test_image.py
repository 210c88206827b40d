"""The operator's image: two builds are one image, and it says what it is and what is in it."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.constants import RELEASE
from release.sbom import describe
from tests.e2e.images import OPERATOR, PYTHON, Builder
from tests.e2e.world import images_obstacle

pytestmark = pytest.mark.usefixtures("online")

CHECKOUT = Path(__file__).parents[2]
LOCK = CHECKOUT / "requirements" / "operator.txt"
PLATFORMS = {"amd64": "x86_64", "arm64": "aarch64"}
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)


@pytest.fixture(scope="module")
def builder() -> Iterator[Builder]:
    """One that builds from nothing."""
    if why := images_obstacle():
        pytest.skip(why)
    with Builder.temporary(print) as made:
        yield made


@pytest.fixture
def another_checkout(tmp_path: Path) -> Path:
    """The sources under a strict umask, with leavings of Python and of checks among them."""
    for name in (".dockerignore", *OPERATOR.sources):
        target = tmp_path / name
        target.parent.mkdir(exist_ok=True)
        copy = shutil.copytree if (CHECKOUT / name).is_dir() else shutil.copy
        copy(CHECKOUT / name, target)
    for name in ("old.pyc", ".mypy_cache/old", ".ruff_cache/old", ".pytest_cache/old"):
        old = tmp_path / "api" / name
        old.parent.mkdir(exist_ok=True)
        old.write_text("old")
    for path in tmp_path.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return tmp_path


def test_two_builds_are_one_image(builder: Builder, another_checkout: Path) -> None:
    """The digest of its configuration names every layer by its content."""
    identities = []
    for context in (CHECKOUT, another_checkout):
        builder.build(OPERATOR, context)
        identities.append(builder.image_id(OPERATOR.name))
        builder.remove(OPERATOR.name)
    assert identities[0] == identities[1]


def test_the_base_is_the_one_that_is_tested() -> None:
    """By its digest, for whoever has Docker Hub; the real node has a Debian with that Python."""
    assert f"ARG BASE={PYTHON}@sha256:" in (CHECKOUT / "Dockerfile").read_text()


def test_sbom_has_every_dependency() -> None:
    sbom = json.loads(describe())
    assert sbom["bomFormat"] == "CycloneDX"
    found = {(part["name"], part["version"]) for part in sbom["components"]}
    assert found == set(PINNED.findall(LOCK.read_text()))
    assert all(part["hashes"] for part in sbom["components"])


@pytest.mark.parametrize("architecture", PLATFORMS)
def test_wheels_are_there(architecture: str, tmp_path: Path) -> None:
    """Of every dependency, with a hash that the lock file has, for Debian's C library."""
    machine = PLATFORMS[architecture]
    platforms = [f"--platform=manylinux{v}_{machine}" for v in ("2014", "_2_28", "_2_34")]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--require-hashes", "--python-version=3.11"]
    command += [*platforms, f"--dest={tmp_path}", f"--requirement={LOCK}"]
    subprocess.run(command, check=True)
    assert len(list(tmp_path.glob("*.whl"))) == len(PINNED.findall(LOCK.read_text()))


def test_version_is_told() -> None:
    """By the flag, with the revision that the image's build was told."""
    done = subprocess.run(
        [sys.executable, "-m", "controller", "--version"],
        env={"PADDLEJOB_OPERATOR_REVISION": "0123abc", "PATH": ""},
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["paddlejob-operator", f"{RELEASE},", "revision", "0123abc"]
