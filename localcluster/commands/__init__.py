"""The user's commands: run clusters by name, change their images, run manifests in a cluster."""
