"""The operator on a real node: kubelet, containerd, runc, CNI, kube-proxy and CoreDNS.

`make e2e` runs these tests as root, in namespaces of their own: no packet leaves them, and mounts,
addresses and processes go with them, whatever ends the run.
"""
