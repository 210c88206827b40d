"""Keeps a copy of the cluster's objects up to date, and says which job a change concerns.

It imports `client`, but must not import `workqueue` or `work`.
"""
