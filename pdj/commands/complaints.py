"""Reports failures: one line on standard error, and an exit code."""

import sys
from collections.abc import Callable, Iterable
from typing import TypeVar

from kube.errors import ApiError, Transient, Unauthorized
from pdj.errors import FAILED, OK, Problem
from pdj.gather.jobs import NoOperator
from pdj.text.errors import explain, one_line

Item = TypeVar("Item")


def complain(error: Problem | ApiError) -> int:
    """Report the error; returns the exit code."""
    return say(explain(error), error.code if isinstance(error, Problem) else FAILED)


def say(text: str, code: int) -> int:
    """Print `error:` and the text as one line on standard error; returns `code`."""
    sys.stderr.write(f"error: {one_line(text)}\n")
    return code


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
