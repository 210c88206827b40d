"""The errors of a command: a one-line message, and the process's exit code."""

from typing import Final

OK: Final = 0
"""Done. If the command waited for the end of a job: the job has completed."""
FAILED: Final = 1
"""Not done. If the command waited for the end of a job: the job has failed."""
USAGE: Final = 2
"""The command was used wrongly."""
TIMED_OUT: Final = 124
"""`--timeout` has passed; timeout(1) uses the same code."""
INTERRUPTED: Final = 130


class Problem(Exception):
    """The reason why a command stops: a line for the user.

    `by_option` is advice that names options of the command line, `by_argument` advice that names
    arguments of Python functions. Each can be empty.
    """

    code: int = FAILED

    def __init__(self, text: str, by_option: str = "", by_argument: str = "") -> None:
        super().__init__(text)
        self.by_option, self.by_argument = by_option, by_argument

    @property
    def for_shell(self) -> str:
        """The line, with the advice for the command line."""
        return f"{self}: {self.by_option}" if self.by_option else str(self)


class Usage(Problem):
    """The command was used in a wrong way."""

    code = USAGE


class TimedOut(Problem):
    """A wait has timed out."""

    code = TIMED_OUT
