"""What a command says before it gives up: one line, and the process's exit code."""

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
    """Why a command does not go on: a line for the user."""

    code: int = FAILED


class Usage(Problem):
    """The user asked for something that makes no sense."""

    code = USAGE


class TimedOut(Problem):
    """What was waited for has not come in time."""

    code = TIMED_OUT
