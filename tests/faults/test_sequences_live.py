"""Sequences of faults, on the real API server, come to the ends that they come to in memory.

The operator's store, worker, applier and client are the real ones, the API server judges every
write, and its watches tell what happened. All sequences play at once, in namespaces of their own.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
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
from tests.faults.scenario import SETTINGS, Scenario
from tests.faults.sequences import COUNT, draw, play
from tests.live import patience, volcano
from tests.live.operated import install_crd
from tests.memory.client import RESOURCES

pytestmark = [pytest.mark.cluster]

WORKLOADS = Path(__file__).parents[1] / "live" / "crds" / "kueue-workload.yaml"
AT_ONCE = 8


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
        assert clock.wait_until(lambda: serves_all(client), patience.SECONDS)
        yield client
        client.close()


def serves_all(client: ApiClient) -> bool:
    try:
        return all(client.get(resource.path(), {"limit": 1}) for resource in RESOURCES.values())
    except NotFound:
        return False


@pytest.fixture(scope="module")
def playing(client: ApiClient) -> Iterator[list[Future[dict[str, Any]]]]:
    feed = Feed(client)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield [pool.submit(play_live, client, feed, seed) for seed in range(COUNT)]
    feed.close()


def play_live(client: ApiClient, feed: Feed, seed: int) -> dict[str, Any]:
    world = LiveWorld(SETTINGS, f"sequence-{seed}", client=client, feed=feed)
    end = play(drawn(seed), Scenario(world, world.operators_client()))
    assert world.is_true_to_the_server()
    return end


@cache
def drawn(seed: int) -> dict[str, Any]:
    return draw(seed)


@pytest.mark.parametrize("seed", range(COUNT))
def test_sequence_ends_as_it_did_in_memory(playing, seed):
    assert playing[seed].result() == drawn(seed)["end"]
