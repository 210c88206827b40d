"""Everything around `reconcile`. `client` and `workqueue` import no other package of this folder.

`cache` imports `client`; `work` imports all three. Of the modules at the root, the packages import
only `logs`. The others connect the packages.
"""
