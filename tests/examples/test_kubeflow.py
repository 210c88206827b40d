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


@pytest.fixture(scope="module")
def python() -> Path:
    """An environment with Kubeflow's package, kept for the user; skips where no index has it."""
    folder = cache_folder() / "kubeflow-0.5"
    program = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", KUBEFLOW]
        done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"pip cannot install {KUBEFLOW}: {done.stderr[-200:]}")
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
