"""The machine around `reconcile`, in rooms that import one way: client, cache, workqueue, work.

The modules at the root are of two kinds. Every room may import `backoff`, `clock` and `logs`. The
others put the rooms together, and no room imports them.
"""
