"""A kubelet of plain processes: it runs the containers of the pods bound to one node.

Two processes make a node. The node itself talks to the API server; its spawner, single-threaded and
first process of a PID namespace, forks the containers. When either dies, by whatever signal, the
kernel kills that namespace, and with it every container.

The modules here connect the packages: they may import all of them, and no package imports these.
`pod` imports `volume`, `network`, `spec` and `runtime`; of those only `volume` imports others.
`stream` imports `runtime`.
"""
