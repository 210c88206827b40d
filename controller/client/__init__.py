"""Talks to the API server: credentials, connections, requests, encodings and errors.

It can send and read objects, and knows nothing about their purpose. It imports no other package.
"""
