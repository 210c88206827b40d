"""The page of `kubectl pdj ui`, served on loopback with the permissions of the user's kubeconfig.

`page/` holds the files that the browser gets. The server answers with JSON. What changes (the jobs,
one job, its log) is a feed: one JSON value per line, for as long as the browser reads. Each feed
has its own thread, so everything in these modules may block.

Every text that others wrote passes through `encoding.encode`, and the page shows it as plain text:
markup and marks of direction have no effect.
"""
