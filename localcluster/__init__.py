"""A Kubernetes cluster of plain processes.

The control plane is the real one; the node runs containers as processes.
"""
