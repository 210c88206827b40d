"""A Kubernetes cluster of plain processes.

The control plane is the real one; the node runs containers as processes.
"""

from localcluster.cluster.cluster import Cluster
from localcluster.cluster.config import ClusterConfig
from localcluster.machine.errors import LocalClusterError

__all__ = ["Cluster", "ClusterConfig", "LocalClusterError"]
