"""A pod's volumes: folders of this machine, and files made from objects of the API server.

The only other packages of the node that it imports are `spec` and `runtime`.
"""
