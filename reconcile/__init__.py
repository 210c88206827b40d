"""Pure decisions: (job, children, now) -> plan. No threads, no client, no clock, no logger.

Imports nothing by itself: the tools read single rooms, and the whole takes a fifth of a second.
"""
