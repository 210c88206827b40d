"""Python environments, built and cached for each user.

Images share one with PaddlePaddle; another has Go from PyPI. Processes that need the same one wait
for each other. The shared environment's folder is named after a hash of its lock file and its
Python, so a changed lock file leads to a new environment. An image with requirements of its own
gets a second environment on top of the shared one, which is not changed. The hash of the second one
also covers the interpreter's folder and the requirements.

A new environment starts as a copy of the most similar one. In the copy, pip then installs and
removes packages. The files of a copy are hard links, since pip replaces files and never writes into
them.
"""

import contextlib
import hashlib
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from localcluster.machine.errors import LocalClusterError
from localcluster.machine.filelock import FileLock
from localcluster.machine.project import PROJECT
from localcluster.machine.report import Report, run_to_end, tell
from localcluster.machine.userfolder import user_folder, writable
from localcluster.provision.requirements import digest_requirements, plain_lines
from localcluster.provision.training import Interpreter, own, training, written

SHARED = {"examples": "", "examples-2": "2", "examples-3": "3"}
"""Names of shared environments, each with the major version of PaddlePaddle that it prefers, if
any. They have PaddlePaddle and all that the examples need.
"""
READY_MARK = ".ready"
BASE_FILE = "base.pth"
WHEELS = ("--only-binary=:all:", "--no-binary=etcd3")
"""pip compiles nothing, so a missing wheel is an error, except for etcd3 (pure Python)."""
REMOVE_UNWANTED = """
import subprocess, sys
from importlib.metadata import distributions
from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import canonicalize_name
own = {canonicalize_name(each.name): each for each in distributions(path=[sys.argv[1]])}
todo = [Requirement(line.partition(" --hash")[0]) for line in (*sys.argv[2:], "pip", "setuptools")]
seen = set()
while todo:
    one = todo.pop()
    name = canonicalize_name(one.name)
    for extra in {"", *one.extras} if name in own else ():
        if (name, extra) not in seen:
            seen.add((name, extra))
            needs = map(Requirement, own[name].requires or ())
            todo += [n for n in needs if not n.marker or n.marker.evaluate({"extra": extra})]
if gone := own.keys() - {name for name, _ in seen}:
    sys.exit(subprocess.call([sys.executable, "-m", "pip", "uninstall", "--quiet", "--yes", *gone]))
"""
"""Uninstalls packages that no requirement needs. Arguments: the packages' folder, requirements."""
UNREACHABLE = re.compile(r"Retrying .* after connection broken by '(\w+)")
DOWNLOAD = re.compile(r"(?:Downloading|Using cached) (?:\S+/)?(\S+) (\([\d.]+ ?\w*B\))")
NO_WHEEL = re.compile(r"No matching distribution found for (\S+)")


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to build an environment: `wanted` are pip's arguments, and pip runs in `folder`.

    The environment sees the packages of `base`. `name` is for messages. `python` builds the
    environment. A similar environment is found by `lines`: the requirements, or empty if one of
    them does not name a package.
    """

    name: str
    wanted: Sequence[str]
    base: Path | None = None
    folder: Path | None = None
    python: Interpreter = field(default_factory=own)
    lines: Sequence[str] = ()


def cache_folder() -> Path:
    """This project's cache folder. Raises LocalClusterError if it cannot be written to."""
    return writable(user_folder("XDG_CACHE_HOME", ".cache"), "XDG_CACHE_HOME")


def environment_path(name: str) -> Path:
    """The path of a shared environment, whether it exists yet or not."""
    chosen = training(SHARED[name])
    name = name if chosen != training() else "examples"
    key = hashlib.sha256((PROJECT / chosen.paddle.lock).read_bytes())
    key.update(f"{chosen.python.version} {platform.machine()}".encode())
    return cache_folder() / f"{name}-{key.hexdigest()[:12]}"


def is_ready(name: str) -> bool:
    """Whether a shared environment is complete."""
    return (environment_path(name) / READY_MARK).exists()


def ensure_environment(name: str, report: Report = tell) -> Path:
    """Build a shared environment if needed; return its folder. Raises LocalClusterError."""
    chosen = training(SHARED[name])
    lock = PROJECT / chosen.paddle.lock
    wanted = [*WHEELS, "--require-hashes", "--requirement", str(lock)]
    recipe = Recipe(name, wanted, python=chosen.python, lines=plain_lines(lock))
    return ensure_installed(environment_path(name), recipe, report)


def packages_path(name: str, requirements: Path) -> Path:
    """The path of the environment for these requirements on top of a shared one, built or not.

    Raises LocalClusterError if a requirements file cannot be read.
    """
    try:
        content = digest_requirements(requirements)
    except OSError as error:
        raise LocalClusterError(f"requirements: {error}") from error
    python = training(SHARED[name]).python
    interpreter = f"{python.release} {python.prefix}"
    key = hashlib.sha256(f"{environment_path(name)}\n{interpreter}\n{content}".encode())
    return cache_folder() / f"packages-{key.hexdigest()[:12]}"


def has_packages(name: str, requirements: Path) -> bool:
    """Whether the environments of `ensure_packages` are complete."""
    return is_ready(name) and (packages_path(name, requirements) / READY_MARK).exists()


def ensure_packages(name: str, requirements: Path, report: Report = tell) -> list[Path]:
    """Build the environment for these requirements and the shared one; return both folders.

    If each line has a hash, pip installs only the packages listed, without their dependencies.
    Raises LocalClusterError with pip's message.
    """
    base = ensure_environment(name, report)
    file = requirements.resolve()
    path = packages_path(name, file)
    python, lines = training(SHARED[name]).python, plain_lines(file)
    is_locked = bool(lines) and all("--hash=" in line for line in lines)
    wanted = [*(["--no-deps"] if is_locked else []), "--requirement", str(file)]
    recipe = Recipe(str(requirements), wanted, base, file.parent, python, lines)
    return [ensure_installed(path, recipe, report), base]


def ensure_installed(path: Path, recipe: Recipe, report: Report) -> Path:
    """Build an environment unless it exists; return its folder. Raises LocalClusterError."""
    if not (path / READY_MARK).exists():
        lock = FileLock(path.parent / f"{path.name}.lock")
        if not lock.acquire(wait=False):
            report(f"waiting for process {lock.holder_pid()}, which installs {recipe.name}")
            lock.acquire()
        try:
            if not (path / READY_MARK).exists():
                _make(path, recipe, report)
        finally:
            lock.release()
    os.utime(path)  # prune.py keeps folders that were used lately
    return path


def write_protect(path: Path, mode: int = 0o555) -> None:
    """Set the mode of the programs' and packages' folders; by default, only root can add files."""
    for folder in (path / "bin", _site_packages(path)):
        folder.chmod(mode)


def remove_folder(path: Path) -> None:
    """Remove an environment, write-protected or not, or any other folder of the cache."""
    with contextlib.suppress(OSError, StopIteration):
        write_protect(path, 0o755)
    shutil.rmtree(path, ignore_errors=True)


def _make(path: Path, recipe: Recipe, report: Report) -> None:
    remove_folder(path)  # left by an earlier attempt that was killed
    report(f"installing {recipe.name} into {path}")
    try:
        _install(path, recipe, report)
    except BaseException:
        remove_folder(path)
        raise
    (path / READY_MARK).write_text("\n".join(recipe.lines))


def _install(path: Path, recipe: Recipe, report: Report) -> None:
    former = _similar(path, recipe)
    try:
        changed = _start_from(former, path, recipe) if former else []
    except OSError:  # `former` was pruned, or this file system has no links
        remove_folder(path)
        former = None
    python = str(path / "bin" / "python")
    _run([str(recipe.python.program), "-m", "venv", "--without-pip", str(path)], recipe, report)
    if former is not None:
        report(f"starting from {former}")
    else:  # not by venv, which keeps the words of the error to itself
        _run([python, "-Im", "ensurepip", "--default-pip"], recipe, report)
    if recipe.base is not None and former is None:
        (_site_packages(path) / BASE_FILE).write_text(_show(recipe.base))
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    if former is not None and changed:
        _run([*pip, "uninstall", "--yes", *changed], recipe, report)
    _run([*pip, "install", *recipe.wanted], recipe, report)
    if former is not None:
        _run(
            [python, "-c", REMOVE_UNWANTED, str(_site_packages(path)), *recipe.lines],
            recipe,
            report,
        )
    if recipe.base is not None:
        _take_programs(recipe.base / "bin", path / "bin")


def _similar(path: Path, recipe: Recipe) -> Path | None:
    """The environment of the same Python and base with the most requirements in common, if any."""
    found: dict[int, Path] = {}
    for mark in path.parent.glob(f"{path.name.rpartition('-')[0]}-{'?' * 12}/{READY_MARK}"):
        with contextlib.suppress(OSError):
            shared = len({*mark.read_text().splitlines()} & {*recipe.lines})
            base = _site_packages(mark.parent) / BASE_FILE
            is_ours = (base.read_text() if base.exists() else "") == _show(recipe.base)
            python = (mark.parent / "bin" / "python").resolve()
            if shared and is_ours and python == recipe.python.program.resolve():
                found[shared] = mark.parent
    return found[max(found)] if found else None


def _start_from(former: Path, path: Path, recipe: Recipe) -> list[str]:
    """Hard-link the files of `former` into `path`; returns the names of packages to uninstall."""
    own = {"bin", "pyvenv.cfg", READY_MARK}  # they contain the folder's path, or venv writes them
    shutil.copytree(
        former,
        path,
        symlinks=True,
        copy_function=os.link,
        ignore=lambda folder, names: own & {*names} if Path(folder) == former else (),
    )
    _site_packages(path).chmod(0o755)
    (path / "bin").mkdir()
    _take_programs(former / "bin", path / "bin")
    lines = (former / READY_MARK).read_text().splitlines()
    return [re.split(r"[^\w.-]", line)[0] for line in lines if line not in recipe.lines]


def _show(base: Path | None) -> str:
    # In ASCII: Python reads it in the encoding of the locale, which can be any.
    return f"import site; site.addsitedir({str(_site_packages(base))!a})\n" if base else ""


def _site_packages(path: Path) -> Path:
    return next(path.glob("lib/python*/site-packages"))


def _take_programs(base: Path, own: Path) -> None:
    """Copy the scripts that are only in `base`, changed to run with the Python of `own`."""
    for program in base.iterdir():
        if program.is_file() and not (own / program.name).exists():
            text = program.read_bytes()
            if text.startswith(b"#!"):
                (own / program.name).write_bytes(text.replace(bytes(base), bytes(own)))
                (own / program.name).chmod(0o755)


def _run(command: Sequence[str], recipe: Recipe, report: Report) -> None:
    # pip must use the temporary folder that `commands/host.py` sets, and removes at the end. What
    # is on PYTHONPATH it would not install.
    environment = {**os.environ, "TMPDIR": tempfile.gettempdir()}
    environment.pop("PYTHONPATH", None)
    code, output = run_to_end(command, recipe.name, report, recipe.folder, environment, _download)
    if code:
        raise LocalClusterError(_explain(recipe, output))


def _download(line: str) -> str:
    """The file and its size, from a line of pip's about a download; nothing from most others."""
    if line.startswith("Installing collected packages"):
        return "unpacking"
    return " ".join(match.groups()) if (match := DOWNLOAD.fullmatch(line)) else ""


def _explain(recipe: Recipe, output: str) -> str:
    name = recipe.name
    if match := UNREACHABLE.search(output):
        return f"{name} cannot be installed: the package index cannot be reached ({match[1]})"
    if match := NO_WHEEL.search(output):
        where = f"Python {written(recipe.python)} on {platform.machine()}"
        return f"{name} cannot be installed: there is no package {match[1]} for {where}"
    lines = output.strip().splitlines() or ["no output"]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return f"{name} cannot be installed: {(errors or lines)[-1]}"
