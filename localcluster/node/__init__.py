"""A kubelet that runs containers as processes: those of the pods that are bound to one node.

A node is two processes. The node process talks to the API server. Its spawner, which has one thread
and is the first process of a PID namespace, forks the containers. If either process dies, by
whatever signal, the kernel kills all processes of that namespace, that is, every container.

The modules directly in this package connect the subpackages: they import all subpackages, but no
subpackage imports them. `pod` imports `volume`, `network`, `spec` and `runtime`; `volume` imports
`spec` and `runtime`; `stream` imports `runtime`; the others import no subpackage.
"""
