"""The life of one pod: its containers, probes and status, from its sandbox to its end.

It may import every other room, but not the modules that hold the node together.
"""
