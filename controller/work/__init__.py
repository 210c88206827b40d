"""Passes over jobs: observe, decide, write, and schedule the next pass.

It is allowed to import every other package, but not the modules that start and stop them.
"""
