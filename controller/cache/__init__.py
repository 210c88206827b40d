"""Keeps a copy of the cluster's objects up to date, and says which job a change concerns.

It may import `client`, but neither `workqueue` nor `work`.
"""
