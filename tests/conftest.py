"""Shared fixtures. Tests that need a real API server take `cluster` and run against one for all."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster import Cluster, ClusterConfig
from localcluster.build import ensure_binaries

CLUSTER_TESTS = Path(__file__).parent / "cluster"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that needs the local cluster."""
    for item in items:
        if "cluster" in getattr(item, "fixturenames", ()) or CLUSTER_TESTS in item.path.parents:
            item.add_marker("cluster")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build what the tests need before their clock starts."""
    if any(item.get_closest_marker("cluster") for item in session.items):
        ensure_binaries()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """One running cluster for the whole test run: a test uses a namespace of its own."""
    with Cluster(ClusterConfig(nodes=0)) as running:
        yield running


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A new namespace, in which pods can be created already; deleted after the test."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    cluster.kubectl("create", "namespace", name)
    # Admission refuses pods until a controller has made the ServiceAccount.
    cluster.kubectl("wait", "-n", name, "--for=create", "serviceaccount/default", "--timeout=30s")
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false")
