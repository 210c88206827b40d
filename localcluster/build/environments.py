"""Python environments that are made once per user, and kept: those of images, and a Go from PyPI.

Processes that want the same one wait for each other. An image's environment lies in the user's
cache under a name that says which lock file and which Python it is made of, so a changed lock gives
a new one. An image with requirements of its own has an environment for them on top of a shared one,
which stays as it is; its name says also of which interpreter it is, and of which files.
"""

import hashlib
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from localcluster.build.requirements import digest_requirements
from localcluster.build.training import Interpreter, own, training, written
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.filelock import FileLock
from localcluster.machine.report import Report, run_to_end

CHECKOUT = Path(__file__).resolve().parents[2]
SHARED = frozenset({"examples"})
"""The environments that containers share: PaddlePaddle, with what the examples need."""
READY_MARK = ".ready"
BASE_FILE = "base.pth"
WHEELS = ("--only-binary=:all:", "--no-binary=etcd3")
"""Nothing is compiled: a Python without wheels is told so at once. etcd3 is pure and has none."""
UNREACHABLE = re.compile(r"Retrying .* after connection broken by '(\w+)")
NO_WHEEL = re.compile(r"No matching distribution found for (\S+)")


@dataclass(frozen=True, slots=True)
class Recipe:
    """What an environment is made of: what pip gets by these arguments, run in this folder.

    What `base` has is there too. `name` is for people, `python` makes it.
    """

    name: str
    wanted: Sequence[str]
    base: Path | None = None
    folder: Path | None = None
    python: Interpreter = field(default_factory=own)


def cache_folder() -> Path:
    """Where this project keeps what it can make again."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "paddlejob-operator"


def environment_path(name: str) -> Path:
    """Where an image's environment is, or will be."""
    chosen = training()
    key = hashlib.sha256((CHECKOUT / chosen.paddle.lock).read_bytes())
    key.update(f"{chosen.python.version} {platform.machine()}".encode())
    return cache_folder() / f"{name}-{key.hexdigest()[:12]}"


def is_ready(name: str) -> bool:
    """Whether an image's environment is there, whole."""
    return (environment_path(name) / READY_MARK).exists()


def ensure_environment(name: str, report: Report = print) -> Path:
    """Make an image's environment if it is not there; its folder. Raises LocalClusterError."""
    chosen = training()
    wanted = [*WHEELS, "--require-hashes", "--requirement", str(CHECKOUT / chosen.paddle.lock)]
    recipe = Recipe(name, wanted, python=chosen.python)
    return ensure_installed(environment_path(name), recipe, report)


def packages_path(name: str, requirements: Path) -> Path:
    """Where the environment for these requirements on top of an image's is, or will be.

    Raises LocalClusterError where the file, or one that it names, cannot be read.
    """
    try:
        content = digest_requirements(requirements)
    except OSError as error:
        raise LocalClusterError(f"requirements: {error}") from error
    python = training().python
    interpreter = f"{python.release} {python.prefix}"
    key = hashlib.sha256(f"{environment_path(name)}\n{interpreter}\n{content}".encode())
    return cache_folder() / f"packages-{key.hexdigest()[:12]}"


def has_packages(name: str, requirements: Path) -> bool:
    """Whether that environment is there, whole."""
    return is_ready(name) and (packages_path(name, requirements) / READY_MARK).exists()


def ensure_packages(name: str, requirements: Path, report: Report = print) -> list[Path]:
    """Make the environment for these requirements, and the shared one; both folders.

    Raises LocalClusterError with pip's words.
    """
    base = ensure_environment(name, report)
    file = requirements.resolve()
    path = packages_path(name, file)
    wanted = ["--requirement", str(file)]
    recipe = Recipe(str(requirements), wanted, base, file.parent, training().python)
    return [ensure_installed(path, recipe, report), base]


def ensure_installed(path: Path, recipe: Recipe, report: Report) -> Path:
    """Make an environment if it is not there; its folder. Raises LocalClusterError."""
    if not (path / READY_MARK).exists():
        with FileLock(path.parent / f"{path.name}.lock"):
            if not (path / READY_MARK).exists():
                _make(path, recipe, report)
    return path


def write_protect(path: Path) -> None:
    """Let nobody add packages to an environment, or take any away; root does so all the same."""
    for folder in (path / "bin", _site_packages(path)):
        folder.chmod(0o555)


def _make(path: Path, recipe: Recipe, report: Report) -> None:
    shutil.rmtree(path, ignore_errors=True)  # an earlier attempt that was killed
    report(f"installing {recipe.name} into {path}")
    try:
        _install(path, recipe, report)
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise
    (path / READY_MARK).touch()


def _install(path: Path, recipe: Recipe, report: Report) -> None:
    _run([str(recipe.python.program), "-m", "venv", str(path)], recipe, report)
    if recipe.base is not None:
        shown = str(_site_packages(recipe.base))
        (_site_packages(path) / BASE_FILE).write_text(f"import site; site.addsitedir({shown!r})\n")
    pip = [str(path / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check"]
    _run([*pip, "--quiet", *recipe.wanted], recipe, report)
    if recipe.base is not None:
        _take_programs(recipe.base / "bin", path / "bin")


def _site_packages(path: Path) -> Path:
    return next(path.glob("lib/python*/site-packages"))


def _take_programs(base: Path, own: Path) -> None:
    """Have the base's programs run in this environment, where they see its packages too."""
    for program in base.iterdir():
        if program.is_file() and not (own / program.name).exists():
            text = program.read_bytes()
            if text.startswith(b"#!"):
                (own / program.name).write_bytes(text.replace(bytes(base), bytes(own)))
                (own / program.name).chmod(0o755)


def _run(command: Sequence[str], recipe: Recipe, report: Report) -> None:
    environment = {**os.environ, "TMPDIR": tempfile.gettempdir()}  # ours, with all that is left
    code, output = run_to_end(command, recipe.name, report, recipe.folder, environment)
    if code:
        raise LocalClusterError(_explain(recipe, output))


def _explain(recipe: Recipe, output: str) -> str:
    name = recipe.name
    if match := UNREACHABLE.search(output):
        return f"{name} cannot be installed: the package index cannot be reached ({match[1]})"
    if match := NO_WHEEL.search(output):
        where = f"Python {written(recipe.python)} on {platform.machine()}"
        return f"{name} cannot be installed: nothing of {match[1]} for {where}"
    lines = output.strip().splitlines() or ["no output"]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return f"{name} cannot be installed: {(errors or lines)[-1]}"
