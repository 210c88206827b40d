"""How an API server is reached: certificates, kubeconfigs, requests and watches.

Imports no other room but `machine`.
"""
