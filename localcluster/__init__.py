"""A Kubernetes cluster of plain processes: the real control plane, and a node that runs containers as processes."""
