"""What all pods of a node share. Any thread may use it."""

from dataclasses import dataclass

from localcluster.config import ClusterConfig
from localcluster.images import ImageTable
from localcluster.node.network.hosts import Hosts
from localcluster.node.pod.events import Recorder
from localcluster.node.runtime.runtime import Runtime
from localcluster.rest import Client


@dataclass(frozen=True)
class NodeContext:
    """The node called `name`, as its pods see it."""

    name: str
    config: ClusterConfig
    client: Client
    runtime: Runtime
    images: ImageTable
    events: Recorder
    hosts: Hosts
