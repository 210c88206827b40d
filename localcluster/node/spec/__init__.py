"""What the words of a pod's spec come to: quantities, $(VAR) references, a container's variables.

All but the lookup of ConfigMaps and Secrets is pure. It imports no other room.
"""
