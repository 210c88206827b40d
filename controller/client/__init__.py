"""Talks to the API server: credentials, connections, requests, encodings and errors.

It knows how to send and read objects, and nothing of what they are for. It imports no other room.
"""
