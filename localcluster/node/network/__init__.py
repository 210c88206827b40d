"""Addresses of pods, and the names that lead to them: each pod's /etc/hosts.

It knows nothing of containers and imports no other room.
"""
