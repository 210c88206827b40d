"""Addresses of pods, and the names that resolve to them: each pod's /etc/hosts.

It knows nothing of containers and imports no other package of the node.
"""
