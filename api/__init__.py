"""Defines PaddleJobs: spec and status, defaults, validation, schema, names. Uses no network."""
