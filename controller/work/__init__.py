"""Passes over jobs: observe, decide, write, and schedule the next pass.

It may import every other package, but not the modules that start and stop them.
"""
