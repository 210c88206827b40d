"""Builds the children: addresses, environment, and manifests of pods, Services and PodGroups."""
