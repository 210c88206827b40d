"""The world in memory: objects, an API server, a kubelet and the operator."""
