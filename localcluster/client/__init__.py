"""Access to an API server: certificates, kubeconfigs, requests and watches.

Of localcluster's packages, it imports only `machine`.
"""
