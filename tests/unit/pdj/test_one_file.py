"""The one-file build runs on a bare Python, in an empty environment and folder."""

import subprocess
import sys
from pathlib import Path

import pytest

from pdj.build import build

CHECKOUT = Path(__file__).parents[3]
EXAMPLE = CHECKOUT / "examples" / "heter.yaml"


@pytest.fixture(scope="module")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file, as `make pdj` builds it."""
    target = tmp_path_factory.mktemp("build") / "kubectl-pdj"
    build(target)
    return target


def run(one_file: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run it with nothing: isolated, without site-packages, variables or a home."""
    bare = Path(sys.base_prefix, "bin", "python3")
    return subprocess.run(
        [bare, "-I", "-S", one_file, *arguments], env={}, cwd=one_file.parent, capture_output=True,
        text=True, check=False,
    )  # fmt: skip


def test_offline_commands_run(one_file: Path) -> None:
    rendered = run(one_file, "render", str(EXAMPLE))
    assert rendered.returncode == 0, rendered.stderr
    assert "\nkind: ConfigMap\n" in rendered.stdout
    assert run(one_file, "lint", str(EXAMPLE)).returncode == 0


def test_a_cluster_is_looked_for(one_file: Path) -> None:
    done = run(one_file, "list")
    assert done.returncode == 1
    assert done.stderr.startswith("error: no cluster")
    assert one_file.stat().st_mode & 0o111
