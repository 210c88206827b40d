"""A pod's volumes: folders of this machine, and files made of objects of the API server.

It may import `spec` and `runtime`, and neither `pod` nor `network`.
"""
