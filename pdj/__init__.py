"""The command-line tool for users: `kubectl pdj`.

A package imports only those named before it: `access` (connects to an API server), `facts` (what is
known of a job), `gather` (reads it), `judge` (says why a job is in its state), `documents` (files,
offline), `text` (output for a terminal), `code` (a folder sent with a job), `act` (changes jobs),
`ui` (the page), `mcp` (tools for assistants), and `commands` (a module for each). `gather` knows
nothing about terminals, so that other programs can show the same data.

Nothing here imports the `kubernetes` package, which takes half a second, or a library for command
lines: `status` is allowed 0.3 s of CPU, and Typer alone would need half of that.
"""
