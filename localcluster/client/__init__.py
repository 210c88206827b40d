"""Access to an API server: certificates, kubeconfigs, requests and watches.

The only other package of localcluster that it imports is `machine`.
"""
