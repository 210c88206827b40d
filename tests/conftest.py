"""Shared fixtures: one cluster for all tests of a kind, and a namespace of its own for each test.

`cluster` has one node and no operator. In `operated` the operator runs the jobs of all namespaces,
and a `lab` is a namespace of it with what a user does there.
"""

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster import Cluster, ClusterConfig
from localcluster.build import ensure_binaries
from tests import network, rights, volcano
from tests.lab import Lab
from tests.operated import start_operator

CLUSTER_TESTS = Path(__file__).parent / "cluster"
SLOW = ("training", "cluster")
CLUSTER_FIXTURES = {"cluster", "operated"}
ELASTIC_TIMEOUT_SECONDS = 10
"""How long an elastic job with fewer workers than it may have waits before it trains."""


def pytest_configure(config: pytest.Config) -> None:
    """Give each of several test processes a network of its own.

    Raises PermissionError where that is not allowed: run the tests in one process then.
    """
    if hasattr(config, "workerinput"):
        network.leave()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that needs the local cluster; what takes long comes first."""
    for item in items:
        needs = CLUSTER_FIXTURES & set(getattr(item, "fixturenames", ()))
        if needs or CLUSTER_TESTS in item.path.parents:
            item.add_marker("cluster")
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    return next((at for at, name in enumerate(SLOW) if item.get_closest_marker(name)), len(SLOW))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build what the tests need before their clock starts."""
    if any(item.get_closest_marker("cluster") for item in session.items):
        ensure_binaries()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """One running cluster for the whole test run: a test uses a namespace of its own."""
    with Cluster(ClusterConfig(nodes=1)) as running:
        yield running


@pytest.fixture(scope="session")
def operated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of three nodes in which the operator runs the jobs of all namespaces.

    The nodes have GPUs to count and a label to select, Volcano's PodGroup API is there. At the end
    nothing may have been asked for that was not granted.
    """
    config = ClusterConfig(nodes=3, labels={"accelerator": "nvidia-tesla-p100"})
    with Cluster(config) as running:
        volcano.install_pod_groups(running)
        volcano.start_scheduler(running, tmp_path_factory.mktemp("volcano"))
        start_operator(running, f"--elastic-timeout={ELASTIC_TIMEOUT_SECONDS}")
        yield running
        rights.check_none_is_missing(running)


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A new namespace, in which pods can be created already; deleted after the test."""
    with new_namespace(cluster) as name:
        yield name


@pytest.fixture
def lab(operated: Cluster) -> Iterator[Lab]:
    """A namespace of the test's own beside the running operator."""
    with new_namespace(operated) as name:
        yield Lab(operated, name)


@pytest.fixture(scope="module")
def module_lab(operated: Cluster) -> Iterator[Lab]:
    """The same for all tests of a module: their jobs run at once."""
    with new_namespace(operated) as name:
        yield Lab(operated, name)


@contextlib.contextmanager
def new_namespace(cluster: Cluster) -> Iterator[str]:
    """A namespace that is ready for pods, and goes at the end with all that is in it."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    cluster.kubectl("create", "namespace", name)
    # Admission refuses pods until a controller has made the ServiceAccount.
    cluster.kubectl("wait", "-n", name, "--for=create", "serviceaccount/default")
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false")
