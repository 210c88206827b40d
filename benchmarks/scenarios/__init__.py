"""One measurement, one module: each takes a site and an operator, and returns a value."""
