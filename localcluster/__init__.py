"""A Kubernetes cluster of plain processes.

The control plane is the real one; the node runs containers as processes.
"""

from localcluster.cluster import Cluster, ClusterConfig
from localcluster.errors import LocalClusterError

__all__ = ["Cluster", "ClusterConfig", "LocalClusterError"]
