"""What each child is: addresses, environment, and the manifests of pods, Services and PodGroups."""
