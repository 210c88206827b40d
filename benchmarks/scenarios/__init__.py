"""The measurements, one in each module. Most take a site and an operator, and return a value."""
