"""A Kubernetes cluster of plain processes.

The control plane is the real one; the node runs containers as processes.

Importing this imports no other module: the node's programs import only what they need.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from localcluster.cluster.cluster import Cluster as Cluster
    from localcluster.cluster.config import ClusterConfig as ClusterConfig
    from localcluster.machine.errors import LocalClusterError as LocalClusterError

HOMES = {
    "Cluster": "cluster.cluster",
    "ClusterConfig": "cluster.config",
    "LocalClusterError": "machine.errors",
}
__all__ = ["Cluster", "ClusterConfig", "LocalClusterError"]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{HOMES[name]}", __name__), name)
