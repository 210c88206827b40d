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
    if isinstance(error, Problem):
        return say(str(error), error.code)
    return say(_explain(error), FAILED)


def say(text: str, code: int) -> int:
    """Print one line without control characters; returns the code."""
    line = plain(" ".join(text.split()))
    shown = line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}…"
    sys.stderr.write(f"error: {shown}\n")
    return code


def for_each(items: Iterable[Item], act: Callable[[Item], None]) -> int:
    """Act on each, even if one fails; returns the worst exit code.

    An error that would affect all of them is raised.
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


def _explain(error: ApiError) -> str:
    if isinstance(error, Unauthorized):
        return f"the API server does not accept the login (has it expired?): {error.message}"
    if isinstance(error, Forbidden):
        return f"not allowed: {error.message}"
    return error.message
