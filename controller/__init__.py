"""Everything around `reconcile`, in packages that import one way: client, cache, workqueue, work.

Every package is allowed to import `backoff` and `logs`. The other modules at the root connect the
packages, and no package imports them.
"""
