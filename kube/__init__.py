"""Talking to an API server: one client with verbs, HTTP pool, error tree, clock and parsing.

Shared by the operator, its tools and the local cluster. Imports `api` and the package orjson alone.
"""
