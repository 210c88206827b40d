"""Builds and caches for each user: the control plane's binaries, Python environments, and images.

Of localcluster's packages, it imports only `machine`.
"""
