"""The way to an API server with the user's own rights: kubeconfig, credentials, requests."""
