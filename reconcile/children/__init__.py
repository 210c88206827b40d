"""Which children to create and delete, and when."""
