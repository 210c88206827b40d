"""Services of the machine that the cluster needs: clock, locks, ports, processes, private folders.

Nothing here knows Kubernetes.
"""
