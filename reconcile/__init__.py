"""Pure decisions: (job, children, now) -> plan. No threads, no client, no clock, no logger.

The package itself imports nothing: `kubectl pdj` needs only some of its modules, and importing all
of them takes a fifth of a second.
"""
