"""`python -m tests.live.pythons`: the unit tests and `make run` on every other Python that is here.

Looks on PATH and among pyenv's versions. In `make run` a Python finds no other one, so that it
trains with what there is for it. `--unit` leaves that out and takes the newest other Python alone:
what an upgrade of Python breaks shows there first; `--unit FILES` runs these, one after the other.
Exit code 1 where one of them fails.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from localcluster.provision.environments import Recipe, cache_folder, ensure_installed
from localcluster.provision.training import Interpreter, Version, ask, find, own, written
from tests.live import patience
from tests.live.debian import say

CHECKOUT = Path(__file__).parents[2]
LOCK = CHECKOUT / "requirements" / "dev.txt"
VERSIONS: tuple[Version, ...] = ((3, 11), (3, 12), (3, 13), (3, 14))


UNIT, RUN = ("pytest", "-q", "-n3", "tests/unit"), ("examples.quickstart",)


def main() -> int:
    """Try them one after the other; what failed, at the end."""
    failed: list[str] = []
    is_short, files = sys.argv[1:2] == ["--unit"], sys.argv[2:]
    wanted = (("pytest", "-q", *files) if files else UNIT,) if is_short else (UNIT, RUN)
    for python in list(others())[-1:] if is_short else others():
        environment = dev_environment(python)
        for words in wanted:
            say(f"Python {written(python)}: {' '.join(words)}")
            if not succeeds(environment, words):
                failed.append(f"Python {written(python)}: {' '.join(words)}")
    for line in failed:
        say(f"failed: {line}")
    return 1 if failed else 0


def others() -> Iterator[Interpreter]:
    """An interpreter of each version but the own one; says which there are not."""
    for version in VERSIONS:
        if version == own().version:
            continue
        if found := find(version) or of_pyenv(version):
            yield found
        else:
            say("no Python {}.{} here".format(*version))


def of_pyenv(version: Version) -> Interpreter | None:
    """The newest of this version that pyenv has."""
    name = "{}.{}".format(*version)
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    programs = sorted(root.glob(f"versions/{name}.*/bin/python{name}"))
    return ask(str(programs[-1])) if programs else None


def dev_environment(python: Interpreter) -> Path:
    """What `make setup` makes, with this interpreter."""
    name = f"dev-{written(python)}"
    wanted = ("--require-hashes", "--requirement", str(LOCK))
    path = cache_folder() / f"{name}-{hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]}"
    return ensure_installed(path, Recipe(name, wanted, python=python), say)


def succeeds(environment: Path, words: tuple[str, ...]) -> bool:
    """Whether the module ends well in this environment."""
    with tempfile.TemporaryDirectory(prefix="programs-") as folder:
        rest = os.environ["PATH"]
        if words == RUN:
            link_programs(Path(folder))
            rest = folder
        command = [str(environment / "bin" / "python"), "-m", *words]
        variables = os.environ | {"PATH": f"{environment / 'bin'}:{rest}"}
        done = subprocess.run(command, cwd=CHECKOUT, env=variables, timeout=patience.TEST_SECONDS)
    return done.returncode == 0


def link_programs(folder: Path) -> None:
    """Have all programs of PATH in a folder, but those named python."""
    for each in os.get_exec_path():
        for program in sorted(Path(each).glob("*")):
            link = folder / program.name
            if not (program.name.startswith("python") or link.is_symlink()):
                link.symlink_to(program)


if __name__ == "__main__":
    sys.exit(main())
