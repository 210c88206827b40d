"""The objects that all pods of a node share. Any thread can use them."""

import socket
from dataclasses import dataclass

from localcluster.client.rest import Raw, ServerClient
from localcluster.cluster.config import ClusterConfig
from localcluster.node.network.hosts import Hosts
from localcluster.node.pod.events import Recorder
from localcluster.node.pod.turn import Turn
from localcluster.node.runtime.podnetwork import API_ADDRESS, API_PORT, PodNetwork
from localcluster.node.runtime.runtime import Runtime
from localcluster.provision.images import ImageTable


@dataclass(frozen=True)
class NodeContext:
    """The objects that the pods of node `name` share. If `network` is None, the pods use the
    machine's network.
    """

    name: str
    config: ClusterConfig
    client: ServerClient
    runtime: Runtime
    images: ImageTable
    events: Recorder
    hosts: Hosts
    network: PodNetwork | None
    turn: Turn

    def has_network(self, pod: Raw) -> bool:
        """Whether the pod has a network namespace of its own."""
        return self.network is not None and not pod["spec"].get("hostNetwork")

    def connect(
        self, pod: Raw, address: tuple[str, int], timeout_seconds: float | None = None
    ) -> socket.socket:
        """Connect to an address in the pod's network. Raises OSError or StartFailed."""
        if not self.has_network(pod):
            return socket.create_connection(address, timeout_seconds)
        there = self.runtime.open_socket(pod["metadata"]["uid"])
        there.settimeout(timeout_seconds)
        try:
            there.connect(address)
        except OSError:
            there.close()
            raise
        return there

    def api_server(self, pod: Raw) -> tuple[str, int]:
        """Host and port of the API server, as the pod sees it."""
        return (API_ADDRESS, API_PORT) if self.has_network(pod) else self.client.server.address
