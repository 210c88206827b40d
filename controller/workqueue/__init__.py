"""Says which job to look at next, and when. It holds keys only.

It imports no other room.
"""
