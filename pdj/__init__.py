"""The command-line tool for users: `kubectl pdj`.

The packages import one way: `access` (connects to an API server), `gather` (reads a job's data),
`explain` (says why a job is in its state), `documents` (files, offline), `text` (output for a
terminal), `ui` (the page), `commands` (a module for each), and `actions`, which changes jobs.
`gather` knows nothing about terminals, so that other programs can show the same data.

Nothing here imports the `kubernetes` package, which takes half a second, nor a library for command
lines: `status` is allowed 0.3 s of CPU, and Typer alone would need half of it. A command's module
is imported when the command is used.
"""
