"""The page of `kubectl pdj ui`, served on loopback with the permissions of the user's kubeconfig.

`page/` holds the files that the browser gets. The server answers with JSON. Data that changes (the
jobs, one job, its log) comes as a feed: one JSON value per line, for as long as the browser reads.
Feeds and answers are made in worker threads, where blocking is allowed.

Text from others passes through `encoding`, and the page shows it as plain text, so HTML and
characters that change the direction of text have no effect.
"""
