"""The wheel is installed where nothing else of ours is, without a network, and works there."""

import subprocess
import sys
import venv
from pathlib import Path

import pytest
import yaml

from release.wheel import build

PROGRAM = """
import paddlejob, pathlib, sys
from paddlejob import Client, NotSendable
assert pathlib.Path(paddlejob.__file__).with_name("py.typed").exists()
def fit():
    return RATE
try:
    Client().train(fit, image="python")
except NotSendable as error:
    print(error)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, and PyYAML of this one."""
    folder = tmp_path_factory.mktemp("wheel")
    wheel = build(folder / "build")
    assert wheel.read_bytes() == build(folder / "again").read_bytes()
    venv.create(folder / "venv", with_pip=False)  # to install that takes longer than all else here
    program = folder / "venv" / "bin" / "python"
    words = ["install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", program, *words], check=True)
    shared = f"{Path(yaml.__file__).parents[1]}\n"
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    (packages / "yaml").symlink_to(Path(shared.strip()) / "yaml")
    return program


def run(*words: object, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run it without anything of this process."""
    done = subprocess.run(
        list(map(str, words)), cwd=cwd, env={}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


def test_the_wheel_is_imported_and_refuses_what_cannot_be_sent(python, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    said = run(python, "program.py", cwd=tmp_path).stdout
    assert said.startswith("fit, line 6: uses RATE, which it neither defines nor imports")


def test_a_local_cluster_needs_an_environment_without_the_wheel(python, tmp_path):
    words = (
        "import paddlejob as p\ntry: p.Client(local=True)\nexcept p.PaddleJobError as e: print(e)"
    )
    said = run(python, "-c", words, cwd=tmp_path).stdout
    assert said.endswith("if the wheel is installed, also run pip uninstall paddlejob\n")


def test_the_wheel_brings_the_command(python, tmp_path):
    said = run(python.with_name("kubectl-pdj"), "version", "--client", cwd=tmp_path).stdout
    assert said.startswith("kubectl-pdj   ")
