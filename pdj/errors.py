"""The errors of a command: a one-line message, and the process's exit code."""

from typing import Final

OK: Final = 0
"""Done; of a command that waits: the job has completed."""
FAILED: Final = 1
"""Not done; of a command that waits: the job has failed."""
USAGE: Final = 2
"""Asked for in a way that nobody can do."""
TIMED_OUT: Final = 124
"""`--timeout` has passed, as timeout(1) has it."""
INTERRUPTED: Final = 130


class Problem(Exception):
    """The reason why a command stops: a line for the user."""

    code: int = FAILED


class Usage(Problem):
    """The user asked for something that makes no sense."""

    code = USAGE


class TimedOut(Problem):
    """A wait has timed out."""

    code = TIMED_OUT
