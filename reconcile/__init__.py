"""Pure decisions: (job, children, now) -> plan. No threads, no client, no clock, no logger.

Imports nothing by itself, because the tools need only some of its modules, and all of them take a
fifth of a second.
"""
