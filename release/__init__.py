"""Builds a release: `kubectl pdj` and its krew manifest, the wheel, the site and the image."""
