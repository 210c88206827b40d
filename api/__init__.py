"""Defines PaddleJobs: typed spec and status, defaults, validation, schema, names. No I/O."""
