"""Connects to an API server as the user of a kubeconfig."""
