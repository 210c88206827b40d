"""What is built for a release: the tool as one file, and its krew manifest."""
