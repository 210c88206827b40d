"""Access to an API server: certificates, kubeconfigs, requests and watches.

Imports no other room but `machine`.
"""
