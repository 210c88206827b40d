"""A pod's volumes: folders of this machine, and files made from objects of the API server.

It may import `spec` and `runtime`, but not `pod` or `network`.
"""
