"""What a PaddleJob is: typed spec and status, defaults, validation, schema, names. No I/O."""
