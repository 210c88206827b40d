"""The container runtime: starts, signals and ends containers, and stores their output.

It knows programs, mounts and processes, but no pods and no API server. It imports no other package
of the node.
"""
