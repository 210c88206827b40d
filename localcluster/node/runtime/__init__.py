"""The container runtime: starts, signals and ends containers, and keeps what they write.

It knows programs, mounts and processes, but no pods and no API server. It imports no other room.
"""
