"""An error in one line, for people."""

from kube.errors import ApiError, Forbidden, Unauthorized
from pdj.errors import Problem
from pdj.text.terminal import plain

MAX_LINE = 2000


def explain(error: Problem | ApiError) -> str:
    """The error in words for the user."""
    if isinstance(error, Problem):
        return error.for_shell
    if isinstance(error, Unauthorized):
        return f"the API server does not accept the login (has it expired?): {error.message}"
    if isinstance(error, Forbidden):
        return f"not allowed: {error.message}"
    return error.message


def one_line(text: str) -> str:
    """The text in one line without control characters, cut after MAX_LINE characters."""
    line = plain(" ".join(text.split()))
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}…"
