"""A cluster with two nodes, and pods on it that leave no process behind.

`make e2e` runs the same tests on a real node: what they say of the process node is what a kubelet
does. `differences` has those that hold on one of them alone.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster import Cluster, ClusterConfig
from localcluster.client.rest import ServerClient
from localcluster.machine import clock
from tests.cluster.node.differences import reason
from tests.e2e.node import FOLDER, RealNode
from tests.e2e.world import is_inside
from tests.live import patience
from tests.live.nodepods import BACKOFF_SECONDS, NODES, Pods, container_processes
from tests.live.shared import NODE, SharedClusters

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """On a real node, leave out what holds on the process node alone."""
    for item in items:
        if is_inside() and HERE in item.path.parents and (why := reason(item.name)):
            item.add_marker(pytest.mark.skip(why))


@pytest.fixture(scope="session")
def folders() -> Iterator[Path]:
    """What hostPath and NFS volumes of the nodes lead to."""
    path = Path(tempfile.mkdtemp(prefix="localcluster-test-"))
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def images(folders: Path) -> Path:
    """An image table that tests may add to."""
    path = folders / "images.yaml"
    path.write_text("images: {}\n")
    return path


@pytest.fixture(scope="module")
def cluster(
    request: pytest.FixtureRequest, shared_clusters: SharedClusters, folders: Path, images: Path
) -> Cluster:
    """The cluster of the tests below this folder."""
    if is_inside():
        node: RealNode = request.getfixturevalue("node")
        return node.cluster
    config = ClusterConfig(
        nodes=len(NODES),
        labels={"disk": "fast"},
        images=[images],
        nfs_root=folders / "nfs",
        host_path_root=folders / "host",
        backoff_seconds=BACKOFF_SECONDS,
        config_retry_seconds=0.5,
        renew_seconds=2.0,
    )
    return shared_clusters.get(NODE, lambda: Cluster(config))


@pytest.fixture
def state_folder(cluster: Cluster) -> Path:
    """Where the nodes keep what is theirs."""
    return FOLDER if is_inside() else cluster.kubeconfig.parent


@pytest.fixture
def client(cluster: Cluster) -> ServerClient:
    return cluster.client


@pytest.fixture
def pods(request: pytest.FixtureRequest, cluster: Cluster, namespace: str) -> Iterator[Pods]:
    """Pods in a namespace of the test; when they are deleted, no process is left of them."""
    running = Pods(cluster, namespace)
    node: RealNode | None = request.getfixturevalue("node") if is_inside() else None
    yield running
    running.delete_all()

    def left() -> list[str]:
        return node.running_containers(namespace) if node else container_processes(cluster)

    assert clock.wait_until(lambda: not left(), patience.SECONDS), left()
