"""The image table; binaries and Python environments, built and cached for each user.

The only other package of localcluster that it imports is `machine`.
"""
