"""What the cluster needs from the machine: clock, locks, ports, processes, private folders.

Nothing here knows Kubernetes.
"""
