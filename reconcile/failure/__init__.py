"""Finds out what failed, which pod caused it, what it logged, and how much time was lost."""
