"""Python environments of the images: made once per user from a lock file, and kept.

An environment lies in the user's cache under a name that says which lock file and which Python it
is made of, so a changed lock gives a new one. Processes that want the same one wait for each other.

    python -m localcluster.environments examples
"""

import hashlib
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from localcluster import clock
from localcluster.errors import LocalClusterError
from localcluster.filelock import FileLock
from localcluster.gobuild import cache_folder

CHECKOUT = Path(__file__).resolve().parent.parent
LOCKS = {"examples": Path("requirements/examples.txt")}
READY_MARK = ".ready"
PROGRESS_SECONDS = 5.0
WHEELS = ("--only-binary=:all:", "--no-binary=etcd3")
"""Nothing is compiled: a Python without wheels is told so at once. etcd3 is pure and has none."""
NO_WHEEL = re.compile(r"No matching distribution found for (\S+)")


class EnvironmentFailed(LocalClusterError):
    """The environment cannot be made; one line for the user."""


def environment_path(name: str) -> Path:
    """Where the environment is, or will be."""
    lock = CHECKOUT / LOCKS[name]
    key = hashlib.sha256(lock.read_bytes())
    key.update(f"{sys.version_info[:2]} {platform.machine()}".encode())
    return cache_folder() / f"{name}-{key.hexdigest()[:12]}"


def is_ready(name: str) -> bool:
    """Whether the environment is there, whole."""
    return (environment_path(name) / READY_MARK).exists()


def ensure_environment(name: str, report: Callable[[str], None] = print) -> Path:
    """Make the environment if it is not there; its folder. Raises EnvironmentFailed."""
    path = environment_path(name)
    if (path / READY_MARK).exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        if not (path / READY_MARK).exists():
            _make(name, path, report)
    return path


def _make(name: str, path: Path, report: Callable[[str], None]) -> None:
    shutil.rmtree(path, ignore_errors=True)  # an earlier, interrupted attempt
    report(f"installing the {name} environment into {path}")
    _run([sys.executable, "-m", "venv", str(path)], name, report)
    pip = [str(path / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check"]
    lock = CHECKOUT / LOCKS[name]
    _run([*pip, *WHEELS, "--quiet", "--require-hashes", "--requirement", str(lock)], name, report)
    (path / READY_MARK).touch()


def _run(command: list[str], name: str, report: Callable[[str], None]) -> None:
    """Run to the end, with a line of progress now and then."""
    started = clock.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    output = ""
    while process.returncode is None:
        try:
            output = process.communicate(timeout=PROGRESS_SECONDS)[0]
        except subprocess.TimeoutExpired:
            report(f"  {name}: {clock.monotonic() - started:.0f} s")
    if process.returncode != 0:
        raise EnvironmentFailed(_explain(name, output))


def _explain(name: str, output: str) -> str:
    version = platform.python_version()
    if match := NO_WHEEL.search(output):
        return f"no wheel of {match[1]} for Python {version}: use Python 3.11 for the {name}"
    last = output.strip().splitlines()[-1] if output.strip() else "no output"
    return f"the {name} environment cannot be installed: {last}"


def main() -> int:
    """Make the environments named on the command line; the exit code."""
    for name in sys.argv[1:]:
        try:
            print(ensure_environment(name, print))
        except (LocalClusterError, KeyError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
