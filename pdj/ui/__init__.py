"""The page of `kubectl pdj ui`: served on loopback, with the rights of the user's kubeconfig.

`page/` holds what the browser gets, as it is. The server answers with JSON; what goes on for long
(jobs, a job, its log) is a feed: one JSON value a line, for as long as the browser reads. A thread
of its own reads each feed, so everything below may block.

Every text that others wrote passes `encoding.encode` on its way out, and the page shows texts as
texts: neither markup nor a mark of direction reaches the reader as what it claims to be.
"""
