"""Fixtures of the tests against the real API server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster import Cluster, clock
from tests.history import History
from tests.lab import CORE, PADDLE_JOBS, Lab

CRD = "paddlejobs.batch.paddlepaddle.org"
MANIFESTS = Path(__file__).parents[2] / "manifests" / "v1"


@pytest.fixture(scope="session")
def crd(cluster: Cluster) -> None:
    """The shared cluster knows PaddleJobs."""
    cluster.kubectl("apply", "-f", str(MANIFESTS / "crd.yaml"))

    def is_established() -> bool:
        # Not `kubectl wait`: it fails on a CRD that has no conditions at all yet.
        status = cluster.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{CRD}")
        conditions = status["status"].get("conditions") or ()
        return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)

    assert clock.wait_until(is_established, 30.0)


@pytest.fixture(scope="module")
def job_history(module_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    """What the jobs of the module have been through; ask for it before they are submitted."""
    with History(module_lab, PADDLE_JOBS, "paddlejobs", _history_file(tmp_path_factory)) as history:
        yield history


@pytest.fixture(scope="module")
def pod_history(module_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    """The same of their pods."""
    with History(module_lab, CORE, "pods", _history_file(tmp_path_factory)) as history:
        yield history


def _history_file(folders: pytest.TempPathFactory) -> Path:
    return folders.mktemp("history") / "versions"
