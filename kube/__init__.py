"""Access to an API server: a client with its connections and errors, JSON, logs, and a clock.

The operator, its tools and the local cluster share this package. It imports only `api` and, if they
are installed, orjson and PyYAML.
"""
