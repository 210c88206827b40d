"""A cluster with two nodes, and pods on it that leave no process behind."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster import Cluster, ClusterConfig, clock
from localcluster.rest import Client
from tests.live.nodepods import BACKOFF_SECONDS, DEADLINE_SECONDS, NODES, Pods, container_processes


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


@pytest.fixture(scope="session")
def cluster(folders: Path, images: Path) -> Iterator[Cluster]:
    """The cluster of the tests below this folder."""
    config = ClusterConfig(
        nodes=len(NODES),
        labels={"disk": "fast"},
        images=[images],
        nfs_root=folders / "nfs",
        host_path_root=folders / "host",
        backoff_seconds=BACKOFF_SECONDS,
        config_retry_seconds=0.5,
    )
    with Cluster(config) as running:
        yield running


@pytest.fixture
def client(cluster: Cluster) -> Client:
    """Requests as a user who may do everything."""
    return cluster.client


@pytest.fixture
def pods(cluster: Cluster, namespace: str) -> Iterator[Pods]:
    """Pods in a namespace of the test; when they are deleted, no process is left of them."""
    running = Pods(cluster, namespace)
    yield running
    running.delete_all()
    assert clock.wait_until(lambda: not container_processes(cluster), DEADLINE_SECONDS), (
        container_processes(cluster)
    )
