"""Things built once per user and cached: the control plane's binaries, Python environments, images.

Imports no other room but `machine`.
"""
