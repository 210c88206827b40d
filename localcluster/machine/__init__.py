"""What the cluster needs of the machine below it: clock, locks, ports, processes, private folders.

Nothing here knows Kubernetes.
"""
