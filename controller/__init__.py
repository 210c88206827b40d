"""The machine around `reconcile`, in rooms that import one way: client, cache, workqueue, work.

Every room may import `backoff` and `logs`. The other modules at the root put the rooms together,
and no room imports them.
"""
