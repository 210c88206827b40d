"""Evaluates parts of a pod's spec: quantities, $(VAR) references, environment variables.

All but the lookup of ConfigMaps and Secrets is pure. It imports no other package of the node.
"""
