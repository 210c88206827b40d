"""The image table, and the control plane's binaries and Python environments, cached for each user.

The only other package of localcluster that it imports is `machine`.
"""
