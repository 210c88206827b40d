"""Streams over one connection of the node's server: `kubectl exec` and `kubectl port-forward`.

The thread of a connection reads what the client sends; other threads send the answers.
"""
