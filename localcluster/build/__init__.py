"""What is made once per user and kept: the control plane's binaries, Python environments, images.

Imports no other room but `machine`.
"""
