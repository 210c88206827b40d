"""The page of `kubectl pdj ui`, served on loopback with the permissions of the user's kubeconfig.

`page/` holds the files that the browser gets. The server answers with JSON. Data that changes (the
jobs, one job, its log) comes as a feed: one JSON value per line, for as long as the browser reads.
Each feed has its own thread, so everything in these modules may block.

Text from others passes through `encoding.encode`, and the page shows it as plain text: HTML and
characters that change the direction of text have no effect.
"""
