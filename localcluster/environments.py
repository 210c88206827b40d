"""Python environments that are made once per user, and kept: those of images, and a Go from PyPI.

Processes that want the same one wait for each other. An image's environment lies in the user's
cache under a name that says which lock file and which Python it is made of, so a changed lock gives
a new one.
"""

import hashlib
import os
import platform
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from localcluster.errors import LocalClusterError
from localcluster.filelock import FileLock
from localcluster.report import Report, run_to_end

CHECKOUT = Path(__file__).resolve().parent.parent
LOCKS = {"examples": Path("requirements/examples.txt")}
READY_MARK = ".ready"
WHEELS = ("--only-binary=:all:", "--no-binary=etcd3")
"""Nothing is compiled: a Python without wheels is told so at once. etcd3 is pure and has none."""
NO_WHEEL = re.compile(r"No matching distribution found for (\S+)")


def cache_folder() -> Path:
    """Where this project keeps what it can make again."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "paddlejob-operator"


def environment_path(name: str) -> Path:
    """Where an image's environment is, or will be."""
    lock = CHECKOUT / LOCKS[name]
    key = hashlib.sha256(lock.read_bytes())
    key.update(f"{sys.version_info[:2]} {platform.machine()}".encode())
    return cache_folder() / f"{name}-{key.hexdigest()[:12]}"


def is_ready(name: str) -> bool:
    """Whether an image's environment is there, whole."""
    return (environment_path(name) / READY_MARK).exists()


def ensure_environment(name: str, report: Report = print) -> Path:
    """Make an image's environment if it is not there; its folder. Raises LocalClusterError."""
    lock = str(CHECKOUT / LOCKS[name])
    wanted = [*WHEELS, "--require-hashes", "--requirement", lock]
    return ensure_installed(environment_path(name), name, wanted, report)


def ensure_installed(path: Path, name: str, wanted: Sequence[str], report: Report) -> Path:
    """Make an environment of what pip gets by these arguments, if it is not there; its folder.

    Raises LocalClusterError.
    """
    if not (path / READY_MARK).exists():
        with FileLock(path.parent / f"{path.name}.lock"):
            if not (path / READY_MARK).exists():
                _make(path, name, wanted, report)
    return path


def _make(path: Path, name: str, wanted: Sequence[str], report: Report) -> None:
    shutil.rmtree(path, ignore_errors=True)  # an earlier, interrupted attempt
    report(f"installing {name} into {path}")
    pip = [str(path / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check"]
    for command in ([sys.executable, "-m", "venv", str(path)], [*pip, "--quiet", *wanted]):
        code, output = run_to_end(command, name, report)
        if code:
            raise LocalClusterError(_explain(name, output))
    (path / READY_MARK).touch()


def _explain(name: str, output: str) -> str:
    version = platform.python_version()
    if match := NO_WHEEL.search(output):
        return f"no wheel of {match[1]} for Python {version}: use Python 3.11 for the {name}"
    last = output.strip().splitlines()[-1] if output.strip() else "no output"
    return f"{name} cannot be installed: {last}"
