"""Talks to the API server: credentials, connections, requests, encodings and errors.

It sends and reads objects, whatever their purpose. It imports no other package of `controller`.
"""
