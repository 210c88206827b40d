"""Kubeflow's own client, of the real package, trains a PaddleJob."""

import subprocess
import venv
from pathlib import Path

import pytest

from localcluster.build.environments import cache_folder
from tests.live.lab import Lab

pytestmark = [pytest.mark.cluster, pytest.mark.training, pytest.mark.timeout(600)]

CHECKOUT = Path(__file__).parents[2]
KUBEFLOW = "kubeflow>=0.5,<0.6"
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
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
"""What `paddlejob.kubeflow` stands on."""


def install(program: Path, *words: str) -> None:
    """Install with pip; skips where no index has it."""
    done = subprocess.run([program, *PIP, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"pip cannot install {words[-1]}: {done.stderr[-200:]}")


@pytest.fixture(scope="module")
def python() -> Path:
    """An environment with Kubeflow's package, kept for the user; skips where no index has it."""
    folder = cache_folder() / "kubeflow-0.5"
    program = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        install(program, KUBEFLOW)
        (folder / ".ready").touch()
    return program


def test_the_quick_start_of_kubeflow_ends_complete(module_lab: Lab, python: Path) -> None:
    kubeconfig = module_lab.cluster.kubectl_environment()["KUBECONFIG"]
    words = ["-m", "tests.examples.kubeflow_quickstart", module_lab.namespace, kubeconfig]
    done = subprocess.run(
        [python, *words], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    runtimes, status, *log, is_listed, has_event, refused = done.stdout.splitlines()
    assert runtimes == "paddle-distributed paddle-ps"
    assert status == "Complete node-0 Succeeded node-1 Succeeded"
    assert any(line.endswith("rank 0 of 2 steps 3") for line in log), log
    assert (is_listed, has_event) == ("True", "True")
    assert refused == "the trainer is a CustomTrainer or a CustomTrainerContainer"


def test_the_newest_release_is_as_ours_stands_on_it(python: Path, tmp_path: Path) -> None:
    """A release of theirs breaks nothing here: it is said at the end of the run, as xfail."""
    install(python, "--no-deps", "--target", str(tmp_path), "kubeflow")
    before, after = (
        subprocess.run(
            [python, "-c", SHOW],
            env={"PYTHONPATH": folder},
            capture_output=True,
            text=True,
            check=False,
        )
        for folder in ("", str(tmp_path))
    )
    assert before.returncode == 0, before.stderr
    assert "RuntimeBackend wait_for_job_status" in before.stdout
    if after.stdout != before.stdout:
        (newest,) = tmp_path.glob("kubeflow-*.dist-info")
        changed = set(after.stdout.splitlines()) ^ set(before.stdout.splitlines())
        pytest.xfail(f"{newest.stem} has changed: {sorted(changed)} {after.stderr[-200:]}")
