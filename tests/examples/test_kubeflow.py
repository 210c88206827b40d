"""Kubeflow's own client, of the real package, trains a PaddleJob."""

import subprocess
from pathlib import Path

import pytest

from tests.live import environments
from tests.live.lab import Lab

pytestmark = [pytest.mark.cluster, pytest.mark.training]

CHECKOUT = Path(__file__).parents[2]


def test_the_quick_start_of_kubeflow_ends_complete(module_lab: Lab) -> None:
    python = environments.made(environments.kubeflow)
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
    assert refused == "trainer must be a CustomTrainer or a CustomTrainerContainer"
