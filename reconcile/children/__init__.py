"""Which children are made and which are deleted, and when."""
