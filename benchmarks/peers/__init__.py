"""Other operators, each described by an adapter."""
