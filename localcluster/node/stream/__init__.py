"""Streams over one connection of the node's server: `kubectl exec` and `kubectl port-forward`.

A connection's own thread reads what the client sends, further threads send what comes back.
"""
