"""Builds a release: the tool as one file with its krew manifest, and the wheel."""
