"""What decides which packages an image has: the whole of its requirements, and the interpreter."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from localcluster.machine.errors import LocalClusterError
from localcluster.provision.environments import Recipe, ensure_installed, packages_path
from localcluster.provision.requirements import digest_requirements

FILES = {
    "requirements.txt": """
        # nested, of both kinds
        -r more/other.txt
        --constraint=limits.txt
        ./one-1.0-py3-none-any.whl ; python_version > "3"  # beside this
        two @ file://{root}/two.tar.gz
        -e ./source[extra]
        --find-links wheels
        -rshort.txt
        plain==1.0 \\
            --hash=sha256:00
        https://example.com/three-1.0.whl
    """,
    "more/other.txt": "-r third.txt\n-r ../requirements.txt\n",
    "more/third.txt": "a==1\n",
    "limits.txt": "b<2\n",
    "short.txt": "c\n",
    "one-1.0-py3-none-any.whl": "one",
    "two.tar.gz": "two",
    "source/pyproject.toml": "[project]",
    "source/deep/module.py": "x = 1",
    "wheels/d-1.0.whl": "d",
}


@pytest.fixture
def requirements(tmp_path: Path) -> Path:
    """A requirements file with all that it refers to."""
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = text.replace("{root}", str(tmp_path)).splitlines()
        file.write_text("\n".join(line.removeprefix("        ") for line in lines))
    return tmp_path / "requirements.txt"


@pytest.mark.parametrize("name", FILES)
def test_every_file_that_is_referred_to_counts(requirements, name):
    before = packages_path("examples", requirements)
    assert packages_path("examples", requirements) == before
    file = requirements.parent / name
    file.write_text(file.read_text() + "\nmore")
    assert packages_path("examples", requirements) != before


@pytest.mark.parametrize("name", ["source/build/x.py", "source/x.egg-info/PKG-INFO", "unrelated"])
def test_what_a_build_leaves_counts_for_nothing(requirements, name):
    before = digest_requirements(requirements)
    (requirements.parent / name).parent.mkdir(exist_ok=True)
    (requirements.parent / name).write_text("new")
    assert digest_requirements(requirements) == before


def test_variables_count(requirements, monkeypatch):
    requirements.write_text("-r ${FOLDER}/limits.txt\n")
    found = set()
    for folder in ("more", str(requirements.parent)):
        monkeypatch.setenv("FOLDER", folder)
        found.add(digest_requirements(requirements))
    (requirements.parent / "limits.txt").write_text("b<3\n")
    assert len(found | {digest_requirements(requirements)}) == 3


CHANGES: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "version": lambda patch: patch.setattr("platform.python_version", lambda: "3.11.99"),
    "interpreter": lambda patch: patch.setattr(sys, "base_prefix", "/elsewhere"),
    "image": lambda patch: patch.setattr(
        "localcluster.provision.environments.environment_path", lambda name: Path("/cache/other")
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_the_interpreter_and_the_image_count(requirements, monkeypatch, what):
    monkeypatch.setattr("localcluster.provision.training.find", lambda version: None)
    before = packages_path("examples", requirements)
    CHANGES[what](monkeypatch)
    assert packages_path("examples", requirements) != before


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        (
            "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError('x\n"
            "ERROR: No matching distribution found for einops==0.8.0",
            "the package index cannot be reached (NewConnectionError)",
        ),
        ("ERROR: No matching distribution found for x==9", "there is no package x==9 for Python"),
        ("ERROR: Invalid requirement: 'a b'", "ERROR: Invalid requirement: 'a b'"),
    ],
)
def test_pip_that_fails_is_told_by_its_cause(printed, told, tmp_path, mocker):
    mocker.patch("localcluster.provision.environments.run_to_end", return_value=(1, printed))
    with pytest.raises(LocalClusterError, match=re.escape(f"mine cannot be installed: {told}")):
        ensure_installed(tmp_path / "made", Recipe("mine", []), lambda _said: None)
