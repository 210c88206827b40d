"""A Kubernetes cluster of plain processes.

The control plane is the real one; the node runs containers as processes.
"""

from localcluster.cluster import Cluster
from localcluster.config import ClusterConfig
from localcluster.errors import LocalClusterError

__all__ = ["Cluster", "ClusterConfig", "LocalClusterError"]
