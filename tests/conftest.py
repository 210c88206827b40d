"""Shared fixtures: one cluster for all tests of a kind, and a namespace of its own for each test.

`cluster` has one node and no operator. In `operated` the operator runs the jobs of all namespaces,
and a `lab` is a namespace of it with what a user does there. In `unattended` each test runs
operators of its own. A process stops them when it comes to a file that does not use them.
"""

import contextlib
import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdist.remote import Producer

from kube.errors import NotFound, Transient
from localcluster import Cluster, ClusterConfig
from localcluster.client.rest import ServerClient
from localcluster.machine import clock
from localcluster.node.runtime.spawner import may_isolate
from localcluster.provision.binaries import ensure_binaries
from tests.e2e.node import RealNode
from tests.e2e.shared import node_of
from tests.e2e.world import is_inside
from tests.live import network, patience, rights, shared, temporary, volcano
from tests.live.distribution import Distribution
from tests.live.history import History
from tests.live.lab import CORE, PADDLE_JOBS, Lab
from tests.live.operated import SOON_LOST, install_without_deployment, start_operator
from tests.live.processcount import API_SERVER_MIB
from tests.live.shared import SharedClusters
from tests.live.tinyimages import write_tiny_images

CLUSTER_TESTS = Path(__file__).parent / "cluster"
SLOW = ("training", "cluster")
CLUSTER_FIXTURES = {"cluster", "operated", "unattended"}
USED = pytest.StashKey[shared.Used]()
ELASTIC_TIMEOUT_SECONDS = 10
"""How long an elastic job with fewer workers than it may have waits before it trains."""
CONFIG_RETRY_SECONDS = 4.0
"""How long the nodes of `unattended` wait before they look for a ConfigMap again."""


def pytest_configure(config: pytest.Config) -> None:
    """Give each of several test processes a network of its own, and all one temporary folder.

    Those that share a real node have its network.
    Raises PermissionError where that is not allowed: run the tests in one process then.

    A shell has what it runs in the background ignore Ctrl-C, and so would all that tests start.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config, "workerinput"):
        if not is_inside():
            network.leave()
    else:
        temporary.redirect(config)
        # The control planes' components collect garbage less often, with a third less CPU.
        os.environ.setdefault("GOGC", "400")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Distribution | None:
    """Processes that are given whole files are given them by cluster."""
    return Distribution(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Leave nothing behind."""
    temporary.remove(session)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark every test that needs the local cluster, and let none hang for ever.

    What takes long comes first, and files that share a cluster follow each other.
    """
    for item in items:
        item.add_marker(pytest.mark.timeout(patience.TEST_SECONDS))
        needs = CLUSTER_FIXTURES & set(getattr(item, "fixturenames", ()))
        if needs or CLUSTER_TESTS in item.path.parents:
            item.add_marker("cluster")
    used = config.stash[USED] = shared.find_used(items)
    items.sort(key=lambda item: (_rank(item), sorted(used[item.path])))


def _rank(item: pytest.Item) -> int:
    return next((at for at, name in enumerate(SLOW) if item.get_closest_marker(name)), len(SLOW))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what tests have measured."""
    for outcome in ("passed", "xfailed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, value in report.user_properties:
                terminalreporter.write_line(f"{report.nodeid} {name}: {value}")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build what the tests need before their clock starts."""
    if any(item.get_closest_marker("cluster") for item in session.items):
        ensure_binaries()
    if hasattr(session.config, "workerinput"):
        # There are several control planes: an API server is not to take a gigabyte. A compiler may.
        os.environ.setdefault("GOMEMLIMIT", f"{API_SERVER_MIB}MiB")


@pytest.fixture(scope="session")
def node(pytestconfig: pytest.Config) -> Iterator[RealNode]:
    """A real node, with every image on it: one for all tests that `make e2e` runs."""
    if not is_inside():
        pytest.skip("a real node has namespaces of its own: make e2e")
    found = node_of(pytestconfig)
    with contextlib.closing(found.cluster.client):
        yield found


@pytest.fixture(scope="session")
def shared_clusters() -> Iterator[SharedClusters]:
    """Those that run in this process."""
    running = SharedClusters()
    yield running
    running.keep(())


@pytest.fixture(scope="module", autouse=True)
def _stop_unused(request: pytest.FixtureRequest, shared_clusters: SharedClusters) -> None:
    shared_clusters.keep(request.config.stash[USED][request.path])


@pytest.fixture(scope="module")
def cluster(shared_clusters: SharedClusters) -> Cluster:
    """One running cluster for many files: a test uses a namespace of its own."""
    return shared_clusters.get("cluster", lambda: Cluster(ClusterConfig(nodes=1)))


@pytest.fixture(scope="module")
def operated(shared_clusters: SharedClusters, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """A cluster of three nodes in which the operator runs the jobs of all namespaces.

    The nodes have GPUs to count and a label to select, Volcano's PodGroup API is there, and the
    examples' images have little to train on. At the end nothing may have been asked for that was
    not granted.
    """
    if not may_isolate():
        pytest.skip("a pod has no ServiceAccount of its own where users may make no namespaces")
    folder = tmp_path_factory.mktemp("operated")
    return shared_clusters.get("operated", lambda: _operated(folder))


@contextlib.contextmanager
def _operated(folder: Path) -> Iterator[Cluster]:
    images = write_tiny_images(folder / "images.yaml", OUTPUT_DIR="/nas/model")
    config = ClusterConfig(nodes=3, labels={"accelerator": "nvidia-tesla-p100"}, images=[images])
    with Cluster(config) as running:
        volcano.install_pod_groups(running)
        volcano.start_scheduler(running, folder)
        start_operator(running, f"--elastic-timeout={ELASTIC_TIMEOUT_SECONDS}")
        yield running
        rights.check_none_is_missing(running)


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
        component_arguments=SOON_LOST,
    )
    with Cluster(config) as running:
        install_without_deployment(running)
        yield running


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


@pytest.fixture(scope="module")
def job_history(module_lab: Lab) -> Iterator[History]:
    """What the jobs of the module have been through; ask for it before they are submitted."""
    with History(module_lab, PADDLE_JOBS, "paddlejobs") as history:
        yield history


@pytest.fixture(scope="module")
def pod_history(module_lab: Lab) -> Iterator[History]:
    """What the pods of the module's jobs have been through."""
    with History(module_lab, CORE, "pods") as history:
        yield history


@contextlib.contextmanager
def new_namespace(cluster: Cluster) -> Iterator[str]:
    """A namespace that is ready for pods, and goes at the end with all that is in it."""
    # Hundreds of tests have one each, and a kubectl takes a hundred times as long as a request.
    client, name = cluster.client, f"test-{uuid.uuid4().hex[:8]}"
    path = f"{CORE}/namespaces/{name}"
    client.create(f"{CORE}/namespaces", {"metadata": {"name": name}})
    # Admission refuses pods until a controller has made the ServiceAccount.
    account = f"{path}/serviceaccounts/default"
    assert clock.wait_until(lambda: client.find(account) is not None, patience.SECONDS), account
    yield name
    # A test of large objects leaves an API server that has no answer for half a minute.
    assert clock.wait_until(lambda: _is_deleted(client, path), patience.SECONDS), path


def _is_deleted(client: ServerClient, path: str) -> bool:
    try:
        client.delete(path)
    except NotFound:
        return True
    except Transient:
        return False
    return True
