"""Reports failures: one line on standard error, and an exit code."""

import sys
from collections.abc import Callable, Iterable
from typing import TypeVar

from kube.errors import ApiError, Forbidden, Transient, Unauthorized
from pdj.errors import FAILED, OK, Problem
from pdj.gather.jobs import NoOperator
from pdj.text.terminal import plain

MAX_LINE = 2000
Item = TypeVar("Item")


def complain(error: Problem | ApiError) -> int:
    """Report the error; returns the exit code."""
    return say(explain(error), error.code if isinstance(error, Problem) else FAILED)


def say(text: str, code: int) -> int:
    """Print `error:` and the text as one line on standard error; returns `code`."""
    sys.stderr.write(f"error: {one_line(text)}\n")
    return code


def one_line(text: str) -> str:
    """The text in one line without control characters, cut after MAX_LINE characters."""
    line = plain(" ".join(text.split()))
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}…"


def for_each(items: Iterable[Item], act: Callable[[Item], None]) -> int:
    """Act on each item, even if another fails; returns the worst exit code.

    An error that would affect every item is raised.
    """
    worst = OK
    for item in items:
        try:
            act(item)
        except (NoOperator, Transient, Unauthorized):
            raise
        except (Problem, ApiError) as error:
            worst = max(worst, complain(error))
    return worst


def explain(error: Problem | ApiError) -> str:
    """The error in words for the user."""
    if isinstance(error, Problem):
        return error.for_shell
    if isinstance(error, Unauthorized):
        return f"the API server does not accept the login (has it expired?): {error.message}"
    if isinstance(error, Forbidden):
        return f"not allowed: {error.message}"
    return error.message
