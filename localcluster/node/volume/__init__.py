"""A pod's volumes: folders of this machine, and files made from objects of the API server.

Of the node's other packages it imports only `spec` and `runtime`.
"""
