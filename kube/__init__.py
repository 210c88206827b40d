"""Talking to an API server: one client with verbs, HTTP pool, error tree, clock and parsing.

What two houses need stands here. It imports nothing but `api`, and nobody's package but orjson.
"""
