"""The life of one pod: its containers, probes and status, from its sandbox to its end.

It imports the node's other packages except `stream`, but not the modules directly in `node`.
"""
