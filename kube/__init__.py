"""Talking to an API server: HTTP pool, error tree, depth guard, clock and parsing.

What two houses need stands here. It imports nothing but `api`, and nobody's package but orjson.
"""
