"""What failed, which pod is to blame, what it said, and how much time was lost."""
