"""Chooses the Python and the PaddlePaddle for training on this machine.

PaddlePaddle 2.6.2 has parameter servers, and wheels up to Python 3.12. Version 3 has wheels for
newer Pythons, but no parameter servers. What asks for a version gets that of its major version, if
there is a Python for it. The interpreter that runs this program is preferred to
others on PATH. Training has its own environments, apart from the operator's.
"""

import functools
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from localcluster.machine.errors import LocalClusterError

Version = tuple[int, int]
QUESTION = """
import ensurepip, json, platform, sys, venv
print(json.dumps([platform.python_version(), sys.executable, sys.base_prefix]))
"""
ANSWER_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Paddle:
    """A version of PaddlePaddle, its lock file, and the Python versions that we use it with."""

    version: str
    lock: Path
    pythons: tuple[Version, ...]
    has_servers: bool

    @property
    def major(self) -> str:
        """The part of the version before the first dot."""
        return self.version.partition(".")[0]


WITH_SERVERS = Paddle("2.6.2", Path("requirements/examples.txt"), ((3, 11), (3, 12)), True)
WITHOUT_SERVERS = Paddle(
    "3.3.1", Path("requirements/examples-3.txt"), ((3, 11), (3, 12), (3, 13)), False
)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python that can build environments. They need its installation, `prefix`, to run."""

    release: str
    program: Path
    prefix: Path

    @property
    def version(self) -> Version:
        """Major and minor version: a wheel is for one such version."""
        major, minor, *_ = self.release.split(".")
        return int(major), int(minor)


@dataclass(frozen=True, slots=True)
class TrainingPython:
    """The Python and the PaddlePaddle that train on this machine."""

    paddle: Paddle
    python: Interpreter

    @property
    def why_no_servers(self) -> str:
        """Why there are no parameter servers, and how to get them; empty if there are servers."""
        if self.paddle.has_servers:
            return ""
        return (
            f"PaddlePaddle {self.paddle.version} has no parameter servers: for those, take an image"
            f" of PaddlePaddle 2, and put {either(WITH_SERVERS)} on PATH"
        )


def written(python: Interpreter) -> str:
    """An interpreter's version as text: 3.11."""
    return ".".join(map(str, python.version))


def either(paddle: Paddle) -> str:
    """The Python versions as a phrase: "Python 3.12 or Python 3.11"."""
    return " or ".join(f"Python {major}.{minor}" for major, minor in reversed(paddle.pythons))


def training(wanted: str = "") -> TrainingPython:
    """The Python and PaddlePaddle to train with. Raises LocalClusterError if none is suitable."""
    return choose(own(), found_on_path(), wanted)


def choose(
    mine: Interpreter, others: Mapping[Version, Interpreter], wanted: str = ""
) -> TrainingPython:
    """Prefer the PaddlePaddle of the major version `wanted`, then one with parameter servers. For
    each one, prefer `mine` to `others`.
    """
    paddles = (WITH_SERVERS, WITHOUT_SERVERS)
    for paddle in sorted(paddles, key=lambda each: each.major != wanted):
        if mine.version in paddle.pythons:
            return TrainingPython(paddle, mine)
        for version in reversed(paddle.pythons):
            if version in others:
                return TrainingPython(paddle, others[version])
    raise LocalClusterError(
        f"no PaddlePaddle for Python {written(mine)}: put {either(WITH_SERVERS)} on PATH"
    )


def own() -> Interpreter:
    """The interpreter that runs this program."""
    return Interpreter(platform.python_version(), Path(sys.executable), Path(sys.base_prefix))


def found_on_path() -> Mapping[Version, Interpreter]:
    """Suitable interpreters on PATH. Empty if `own` is enough, because starting each takes time."""
    if own().version in WITH_SERVERS.pythons:
        return {}
    wanted = (*WITH_SERVERS.pythons, *WITHOUT_SERVERS.pythons)
    return {version: found for version in wanted if (found := find(version))}


@functools.cache
def find(version: Version) -> Interpreter | None:
    """The first Python of this version on PATH that can build environments; None without one."""
    name = "python{}.{}".format(*version)
    for folder in os.get_exec_path():
        program = shutil.which(name, path=folder)
        found = ask(program) if program else None
        if found and found.version == version:
            return found
    return None


def ask(program: str) -> Interpreter | None:
    """Run a program to learn its version and prefix; None if it fails, as pyenv's shims can."""
    try:
        command = [program, "-I", "-c", QUESTION]
        told = subprocess.run(command, capture_output=True, timeout=ANSWER_SECONDS, check=True)
        release, path, prefix = json.loads(told.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return Interpreter(release, Path(path), Path(prefix))
