"""The recorded sequences of faults, on the real API server, come to the ends recorded in memory.

The operator's store, worker, applier and client are the real ones, the API server judges every
write, and its watches tell what happened. All sequences play at once, in namespaces of their own.
"""

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from controller.client.api import ApiClient
from controller.client.connection import load_connection
from kube.clock import Clock
from kube.errors import NotFound
from localcluster import Cluster, ClusterConfig
from localcluster.cluster.components import CONTROLLER_MANAGER, SCHEDULER
from localcluster.commands.manifests import install
from localcluster.machine import clock
from metrics import Metrics
from tests.faults.live import Feed, LiveWorld
from tests.faults.record import FOLDER, play
from tests.faults.scenario import SETTINGS, Scenario
from tests.live import volcano
from tests.live.operated import install_crd
from tests.memory.client import RESOURCES

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

WORKLOADS = Path(__file__).parents[1] / "live" / "crds" / "kueue-workload.yaml"
FILES = sorted(FOLDER.glob("*.json"))
AT_ONCE = 8
SERVED_SECONDS = 120.0


@pytest.fixture(scope="module")
def client() -> Iterator[ApiClient]:
    """Of a cluster in which nothing moves but what a sequence moves."""
    with Cluster(ClusterConfig(nodes=0)) as cluster:
        install_crd(cluster)
        volcano.install_pod_groups(cluster)
        install(cluster, WORKLOADS)
        for name in (CONTROLLER_MANAGER, SCHEDULER):
            cluster.stop(name)
        connection = load_connection(str(cluster.kubeconfig), Clock())
        client = ApiClient(connection, Metrics(), AT_ONCE + len(RESOURCES))
        # A new kind is served a moment after its definition is there.
        assert clock.wait_until(lambda: serves_all(client), SERVED_SECONDS)
        yield client
        client.close()


def serves_all(client: ApiClient) -> bool:
    """Whether the API server knows every kind that a sequence may ask for."""
    try:
        return all(client.get(resource.path(), {"limit": 1}) for resource in RESOURCES.values())
    except NotFound:
        return False


@pytest.fixture(scope="module")
def playing(client: ApiClient) -> Iterator[dict[str, Future[dict[str, Any]]]]:
    """How each sequence ends, by its name."""
    feed = Feed(client)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {path.stem: pool.submit(play_live, client, feed, path.stem) for path in FILES}
    feed.close()


def play_live(client: ApiClient, feed: Feed, name: str) -> dict[str, Any]:
    """Play one sequence in a new namespace; its end."""
    world = LiveWorld(SETTINGS, f"sequence-{name}", client=client, feed=feed)
    recorded = json.loads((FOLDER / f"{name}.json").read_text())
    end = play(recorded, Scenario(world, world.operators_client()))
    assert world.is_true_to_the_server()
    return end


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_sequence_ends_as_it_did_in_memory(
    playing: dict[str, Future[dict[str, Any]]], path: Any
) -> None:
    assert playing[path.stem].result() == json.loads(path.read_text())["end"]
