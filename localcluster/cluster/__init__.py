"""One cluster, from start to stop: its configuration, its control plane, its nodes.

The nodes run as programs of their own, so nothing here imports `localcluster.node`.
"""
