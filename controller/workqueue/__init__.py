"""Decides which job is next, and when. It contains only keys.

It imports no other package of `controller`.
"""
