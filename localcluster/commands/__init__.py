"""What people do with clusters: run them by name, change their images, run manifests in one."""
