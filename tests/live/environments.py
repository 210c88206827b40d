"""Environments with packages that some tests need, kept for the user.

`python -m tests.live.prepare` makes them: processes that run tests side by side have a network of
their own, in which no package index can be reached.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from localcluster.machine.errors import LocalClusterError
from localcluster.machine.project import PROJECT
from localcluster.machine.report import Report, tell
from localcluster.provision.environments import (
    Recipe,
    cache_folder,
    ensure_environment,
    ensure_installed,
    ensure_packages,
)

PADDLECLAS = PROJECT / "requirements" / "paddleclas.txt"
KUBEFLOW = ("kubeflow>=0.5,<0.6",)
NOTEBOOK = ("nbclient>=0.11,<0.12", "ipykernel>=7.4,<8")


def made(environment: Callable[[], Path]) -> Path:
    """The Python of an environment with packages; skips the test where no index has them."""
    try:
        return environment()
    except LocalClusterError as error:
        pytest.skip(str(error))


def paddle_3(report: Report = tell) -> Path:
    """The Python of an environment with PaddlePaddle 3. Raises LocalClusterError."""
    return ensure_environment("examples-3", report) / "bin" / "python"


def kubeflow(report: Report = tell) -> Path:
    """The Python of an environment with Kubeflow's own client. Raises LocalClusterError."""
    return _python("kubeflow-0.5", KUBEFLOW, report)


def notebook(report: Report = tell) -> Path:
    """A Python with a notebook's kernel on top of this one. Raises LocalClusterError."""
    major, minor, *_ = sys.version_info
    return _python(f"notebook-{major}.{minor}", NOTEBOOK, report, Path(sys.prefix))


def paddleclas(report: Report = tell) -> Path:
    """The environment with PaddleClas, which its image has too. Raises LocalClusterError."""
    return ensure_packages("examples", PADDLECLAS, report)[0]


def install(report: Report) -> str:
    """Make all of them; returns one line for each that cannot be made."""
    missing = []
    for make in (paddle_3, kubeflow, notebook, paddleclas):
        try:
            make(report)
        except LocalClusterError as error:
            missing.append(str(error))
    return "\n".join(missing)


def _python(name: str, wanted: Sequence[str], report: Report, base: Path | None = None) -> Path:
    path = cache_folder() / name
    return ensure_installed(path, Recipe(name, wanted, base), report) / "bin" / "python"
