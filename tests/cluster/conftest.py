"""Fixtures of the tests against the real API server."""

import contextlib
from collections.abc import Iterator

import pytest

from localcluster import Cluster, ClusterConfig
from localcluster.cluster.components import CONTROLLER_MANAGER
from localcluster.commands.manifests import install
from tests.live.history import History
from tests.live.lab import CORE, PADDLE_JOBS, Lab
from tests.live.operated import MANIFESTS, install_without_deployment
from tests.live.shared import SharedClusters

CONFIG_RETRY_SECONDS = 4.0
"""How long the nodes of `unattended` wait before they look for a ConfigMap again."""
NODE_LOST_SECONDS = 12
"""How long a node may be silent there."""


@pytest.fixture(scope="module")
def unattended(shared_clusters: SharedClusters) -> Cluster:
    """A cluster of four nodes whose loss is soon noticed; each test runs operators of its own."""
    return shared_clusters.get("unattended", _unattended)


@contextlib.contextmanager
def _unattended() -> Iterator[Cluster]:
    config = ClusterConfig(
        nodes=4,
        renew_seconds=2.0,
        config_retry_seconds=CONFIG_RETRY_SECONDS,
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


@pytest.fixture(scope="module")
def crd(cluster: Cluster) -> None:
    """The shared cluster knows PaddleJobs."""
    install(cluster, MANIFESTS / "crd.yaml", verb=("apply",))


@pytest.fixture(scope="module")
def job_history(module_lab: Lab) -> Iterator[History]:
    """What the jobs of the module have been through; ask for it before they are submitted."""
    with History(module_lab, PADDLE_JOBS, "paddlejobs") as history:
        yield history


@pytest.fixture(scope="module")
def pod_history(module_lab: Lab) -> Iterator[History]:
    """The same of their pods."""
    with History(module_lab, CORE, "pods") as history:
        yield history
