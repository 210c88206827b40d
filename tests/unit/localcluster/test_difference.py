"""A changed requirement installs the difference: the rest is linked from the former environment."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcluster.machine.report import run_to_end
from localcluster.provision import environments
from localcluster.provision.environments import Recipe, ensure_installed
from localcluster.provision.requirements import plain_lines
from tests.live.wheel import write_wheel


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """An environment, and one that was made after its requirements had changed."""
    tmp_path = tmp_path_factory.mktemp("made")
    write_wheel(tmp_path, "kept", "1.0")
    write_wheel(tmp_path, "changed", "1.0", needs="helper")
    write_wheel(tmp_path, "changed", "2.0", needs='helper; extra == "more"')
    write_wheel(tmp_path, "helper", "1.0")
    write_wheel(tmp_path, "dropped", "1.0")
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(tmp_path))
        for number, text in enumerate(
            ("kept\nchanged==1.0\ndropped\n", "kept  # as before\nchanged==2.0")
        ):
            file = tmp_path / "requirements.txt"
            file.write_text(text)
            recipe = Recipe("mine", ["--requirement", str(file)], lines=plain_lines(file))
            path = tmp_path / "cache" / f"packages-{number:012}"
            found.append(ensure_installed(path, recipe, lambda _said: None))
        yield found[0], found[1]


def modules(environment: Path) -> dict[str, str]:
    """The first lines of our modules in an environment."""
    (folder,) = environment.glob("lib/python*/site-packages")
    return {each.stem: each.read_text().splitlines()[0] for each in folder.glob("[cdhk]*.py")}


def test_the_difference_alone_is_installed(made):
    former, new = made
    assert modules(new) == {"kept": "version = '1.0'", "changed": "version = '2.0'"}
    assert set(modules(former)) == {"kept", "changed", "helper", "dropped"}
    assert modules(former)["changed"] == "version = '1.0'"
    kept, as_before = (next(each.rglob("kept.py")) for each in made)
    assert kept.samefile(as_before)
    assert {each.name for each in (new / "bin").iterdir()} >= {"kept", "changed", "pip"}
    for program in ("kept", "changed", "pip"):
        assert str(former) not in (new / "bin" / program).read_text()
    assert not (new / "bin" / "dropped").exists()


def test_the_former_environment_may_be_pruned_meanwhile(made, monkeypatch):
    """Once its files are linked, nothing more is taken from it."""
    _, former = made
    kept = former.with_name("kept")
    shutil.copytree(former, kept, symlinks=True)

    def prune_and_run(*args: Any) -> tuple[int, str]:
        shutil.rmtree(former, ignore_errors=True)
        return run_to_end(*args)

    monkeypatch.setattr("localcluster.provision.environments.run_to_end", prune_and_run)
    recipe = Recipe("mine", ["kept", "changed==2.0"], lines=["kept", "changed==2.0", "helper"])
    new = ensure_installed(former.with_name("packages-000000000002"), recipe, lambda _said: None)
    assert not former.exists()
    assert modules(new)["changed"] == "version = '2.0'"
    assert (new / "bin" / "kept").exists()
    kept.rename(former)


def test_a_locked_file_is_complete(tmp_path, monkeypatch):
    wheel = write_wheel(tmp_path, "changed", "1.0", needs="dropped")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    file = tmp_path / "requirements.txt"
    file.write_text(f"changed==1.0 \\\n    --hash=sha256:{digest}\n")
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "1" if name == "PIP_NO_INDEX" else str(tmp_path))
    monkeypatch.setattr(environments, "ensure_environment", lambda *_: Path(sys.prefix))
    own, _ = environments.ensure_packages("examples", file, lambda _said: None)
    assert set(modules(own)) == {"changed"}


@pytest.mark.parametrize(
    "line", ["-r other.txt", "./one.whl", "one-1.0-py3-none-any.whl", "two @ file:///two", "-e ."]
)
def test_other_lines_are_not_compared(line, tmp_path):
    (tmp_path / "requirements.txt").write_text(f"one[extra]>=1 ; python_version > '3'\n{line}\n")
    assert plain_lines(tmp_path / "requirements.txt") == []


def test_the_base_is_found_in_every_locale(tmp_path):
    packages = tmp_path / "bäse" / "lib" / "python3" / "site-packages"
    packages.mkdir(parents=True)
    (tmp_path / "base.pth").write_text(environments._show(tmp_path / "bäse"))
    add = f"import site, sys; site.addsitedir({str(tmp_path)!a})"
    program = f"{add}; print({str(packages)!a} in sys.path)"
    done = subprocess.run(
        [sys.executable, "-c", program], env={"LC_ALL": "C"}, capture_output=True, text=True
    )
    assert done.stdout == "True\n"
