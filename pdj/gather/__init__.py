"""Reads a job's data from the API server; does not format it."""
