"""The measurements, one module each: it takes a site and an operator, and returns a value."""
