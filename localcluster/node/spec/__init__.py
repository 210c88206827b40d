"""Evaluates parts of a pod's spec: quantities, $(VAR) references, a container's variables.

All but the lookup of ConfigMaps and Secrets is pure. It imports no other room.
"""
