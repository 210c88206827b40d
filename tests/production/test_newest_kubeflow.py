"""Whether the newest release of Kubeflow's client is still as `paddlejob.kubeflow` needs it."""

import subprocess
from pathlib import Path

import pytest

from localcluster.machine.errors import LocalClusterError
from tests.live import environments

pytestmark = pytest.mark.usefixtures("online")

PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target")
SHOW = """
import dataclasses, inspect
from kubeflow.trainer import TrainerClient
from kubeflow.trainer.backends.base import RuntimeBackend
from kubeflow.trainer.constants import constants
from kubeflow.trainer.types import types

for each in (RuntimeBackend, TrainerClient):
    for name, method in inspect.getmembers(each, inspect.isfunction):
        print(each.__name__, name, inspect.signature(method))
for each in (types.CustomTrainer, types.CustomTrainerContainer, types.Event, types.Runtime,
             types.RuntimeTrainer, types.Step, types.TrainJob):
    for field in dataclasses.fields(each):
        print(each.__name__, field.name, field.type)
print(*sorted(value for name, value in vars(constants).items() if name.startswith("TRAINJOB_")))
"""
"""Prints what the client stands on."""


def test_the_newest_release_has_not_changed(tmp_path: Path) -> None:
    """Their release breaks nothing here, so a difference is an xfail at the end of the run."""
    try:
        python = environments.kubeflow()
    except LocalClusterError as error:
        pytest.skip(str(error))
    words = [str(python), *PIP, str(tmp_path), "kubeflow"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no index has kubeflow: {done.stderr[-200:]}")
    pinned, newest = (show(python, folder) for folder in ("", str(tmp_path)))
    assert "RuntimeBackend wait_for_job_status" in pinned
    if newest != pinned:
        (info,) = tmp_path.glob("kubeflow-*.dist-info")
        changed = sorted(set(newest.splitlines()) ^ set(pinned.splitlines()))
        pytest.xfail(f"{info.stem} has changed: {changed}")


def show(python: Path, folder: str) -> str:
    """What the client stands on, or the error of a release that has it no longer."""
    done = subprocess.run(
        [python, "-c", SHOW],
        env={"PYTHONPATH": folder},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout
