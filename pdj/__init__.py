"""The tools of people: `kubectl pdj`.

Rooms that import one way: `access` (the way to an API server), `gather` (what is known of a job,
as values), `explain` (why it is so), `documents` (files, offline), `text` (words and pictures for a
terminal), `ui` (the page), `commands` (one module each), and `actions`, which changes jobs. What
gathers knows nothing of terminals, so that other programs can show the same.

Nothing here imports the `kubernetes` package, which takes half a second, nor a library for command
lines: a `status` may take 0.3 s of CPU, half of which Typer alone would need. A command's module
is imported when it is asked for.
"""
