"""The wheel is installed where nothing else of ours is, without a network, and works there.

The folder in which it is used has modules of a user's, which are called like our packages.
"""

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from api.constants import RELEASE
from release.build import ROOT
from release.wheel import build
from tests.live.wheel import OURS, install_wheel, take_our_names

NAME = "|".join(OURS - {"paddlejob"})
IMPORT = re.compile(rf"^\s*(from|import) ({NAME})\b", re.MULTILINE)
"""An import in a program that is a string."""
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
EVERY = """
import importlib, pathlib, pkgutil, sys, paddlejob
for each in pkgutil.walk_packages(paddlejob.__path__, "paddlejob."):
    if not re.search(r"kubeflow|examples|__main__", each.name):
        importlib.import_module(each.name)
        print(each.name)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    wheel = build(folder / "build")
    assert wheel.read_bytes() == build(folder / "again").read_bytes()
    return wheel


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel."""
    return install_wheel(wheel, tmp_path_factory.mktemp("environment"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A user's folder, in which every one of our names but one is taken."""
    return take_our_names(tmp_path)


def run(*words: object, cwd: Path, **env: str) -> str:
    """What it prints, without anything of this process."""
    done = subprocess.run(
        list(map(str, words)), cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_has_one_top_level_name(python):
    (packages,) = python.parents[1].glob("lib/python*/site-packages")
    version = RELEASE
    assert {each.name for each in packages.iterdir()} - {"yaml", "__pycache__"} == {
        *("paddlejob", f"paddlejob-{version}.dist-info")
    }


@pytest.mark.skipif(not find_spec("setuptools"), reason="setuptools is not installed")
def test_pip_installs_the_wheel_from_a_checkout(wheel, tmp_path):
    """As pip does, in a process of its own: setuptools changes what others import."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]
    program = (
        f"import {settings['build-backend']} as backend, sys; backend.build_wheel(sys.argv[1])"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, check=True)
    (made,) = tmp_path.iterdir()
    assert made.read_bytes() == wheel.read_bytes()


def test_every_module_of_the_wheel_is_imported_in_a_users_folder(wheel, place):
    """With the packages of this environment."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place / "packages")
    (place / "every.py").write_text(f"import re{EVERY}")
    said = run(sys.executable, "every.py", cwd=place, PYTHONPATH=str(place / "packages"))
    assert {"paddlejob.controller.manager", "paddlejob.localcluster.node.manager"} <= {
        *said.split()
    }


def test_no_name_of_ours_is_left_in_the_wheel(wheel):
    found = []
    with zipfile.ZipFile(wheel) as archive:
        for path in archive.namelist():
            if path.endswith(".py"):
                left = names_left(archive.read(path).decode())
                found += [f"{path}:{node.lineno}" for node in left]
    assert not found


@pytest.mark.parametrize(
    "source",
    [
        "import api",
        "import os, kube.client as k",
        "def f():\n    from reconcile.model import view",
        "import_module('pdj.main')",
        "import_module(f'pdj.commands.{name}')",
        "run([python, '-P', '-m', 'controller'])",
        "run(python, '-m', 'controller')",
        "run('python -m localcluster up')",
        "x = '''\nimport os\nfrom api import x\n'''",
    ],
)
def test_a_name_that_is_left_is_found(source):
    assert [*names_left(source)]


def names_left(source: str) -> Iterator[ast.stmt | ast.expr]:
    """Where a module names one of our packages as if it were at the top."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom) and names_imported(node) & OURS:
            yield node
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            is_text = re.search(rf"-m\s+({NAME})\b", node.value) or IMPORT.search(node.value)
            if is_text or is_module(node.value):
                yield node
        elif isinstance(node, ast.List | ast.Tuple | ast.Call):
            parts = node.args if isinstance(node, ast.Call) else node.elts
            values = [getattr(part, "value", None) for part in parts]
            if any(first == "-m" and then in OURS for first, then in pairwise(values)):
                yield node


def names_imported(node: ast.Import | ast.ImportFrom) -> set[str]:
    """The packages of an import, without our only one at the top."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        names = [] if node.level else [node.module or ""]
    return {name.partition(".")[0] for name in names} - {"paddlejob"}


def is_module(text: str) -> bool:
    """Whether it is a module's dotted name, or the beginning of one."""
    is_dotted = re.fullmatch(rf"({NAME})(\.\w+)*\.?", text) and "." in text
    path = ROOT / text.strip(".").replace(".", "/")
    return bool(is_dotted) and (path.is_dir() or path.with_suffix(".py").exists())


def test_the_wheel_is_imported_and_refuses_what_cannot_be_sent(python, place):
    (place / "program.py").write_text(PROGRAM)
    said = run(python, "program.py", cwd=place)
    assert said.startswith("fit, line 6: uses RATE, which it neither defines nor imports")


def test_an_import_of_the_wheel_imports_next_to_nothing(python, place):
    words = "import sys; before = {*sys.modules}; import paddlejob; print(*{*sys.modules} - before)"
    imported = {*run(python, "-c", words, cwd=place).split()}
    ours = {name for name in imported if name.startswith("paddlejob")}
    assert ours == {"paddlejob", "paddlejob.errors"} and len(imported) < 60, imported


def test_the_wheel_brings_the_command(python, place):
    said = run(python.with_name("kubectl-pdj"), "version", "--client", cwd=place)
    assert said.startswith(f"kubectl-pdj   {RELEASE} ")
    job = yaml.safe_load((ROOT / "examples" / "resnet.yaml").read_text())
    (place / "job.yaml").write_text(yaml.safe_dump(job))
    assert "kind: ConfigMap" in run(
        python.with_name("kubectl-pdj"), "render", "job.yaml", cwd=place
    )
