"""The user's commands: start and stop clusters, edit their image tables, run manifests' pods."""
