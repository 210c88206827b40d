"""The first run: a local cluster, the operator in it, and one job followed to its end."""
