"""Passes over jobs: look, decide, write, and say when to look again.

It may import every other room, but not the modules that start and stop the machine.
"""
