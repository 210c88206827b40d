"""Fixtures of the tests against the real API server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster import Cluster, ClusterConfig, clock
from localcluster.components import CONTROLLER_MANAGER
from tests.history import History
from tests.lab import CORE, PADDLE_JOBS, WAIT_SECONDS, Lab
from tests.operated import install_without_deployment

CRD = "paddlejobs.batch.paddlepaddle.org"
MANIFESTS = Path(__file__).parents[2] / "manifests" / "v1"


CONFIG_RETRY_SECONDS = 4.0
"""How long the nodes of `unattended` wait before they look for a ConfigMap again."""
NODE_LOST_SECONDS = 12
"""How long a node may be silent there."""


@pytest.fixture(scope="session")
def unattended() -> Iterator[Cluster]:
    """A cluster of four nodes whose loss is soon noticed; each test runs operators of its own."""
    config = ClusterConfig(
        nodes=4,
        config_retry_seconds=CONFIG_RETRY_SECONDS,
        node_arguments=["--renew-seconds=2"],
        component_arguments={
            CONTROLLER_MANAGER: [
                f"--node-monitor-grace-period={NODE_LOST_SECONDS}s",
                "--node-monitor-period=1s",
            ]
        },
    )
    with Cluster(config) as running:
        install_without_deployment(running)
        yield running


@pytest.fixture(scope="session")
def crd(cluster: Cluster) -> None:
    """The shared cluster knows PaddleJobs."""
    cluster.kubectl("apply", "-f", str(MANIFESTS / "crd.yaml"))

    def is_established() -> bool:
        # Not `kubectl wait`: it fails on a CRD that has no conditions at all yet.
        status = cluster.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{CRD}")
        conditions = status["status"].get("conditions") or ()
        return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)

    assert clock.wait_until(is_established, WAIT_SECONDS)


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
