"""`kubectl_complete-pdj`: shell completion.

kubectl runs this program with the words up to the cursor. The program prints a candidate per line.
The last line is a directive: with `:0` the shell also completes file names, with `:4` it does not.
"""

import argparse
import sys
from collections.abc import Sequence

from kube.errors import ApiError
from pdj.commands import COMMANDS
from pdj.errors import Problem

NO_FILES, FILES = 4, 0
WITH_FILES = frozenset({"submit", "render", "lint", "convert"})


def run() -> None:
    """The console script."""
    words = sys.argv[1:] or [""]
    candidates, directive = complete(words)
    sys.stdout.write("".join(f"{each}\n" for each in candidates) + f":{directive}\n")


def complete(words: Sequence[str]) -> tuple[list[str], int]:
    """The candidates for the last word, and the directive."""
    *before, last = words
    if "--" in before:  # the words of a program
        return [], FILES
    command = next((word for word in before if word in COMMANDS), None)
    parser = _parser(command)
    option = parser._option_string_actions.get(before[-1]) if before else None
    if option is not None and option.nargs is None:
        return _values(option, last)
    if command is None:
        return [name for name in COMMANDS if name.startswith(last)], NO_FILES
    if last.startswith("-"):
        return sorted(
            each for each in parser._option_string_actions if each.startswith(last)
        ), NO_FILES
    if command in WITH_FILES:
        return [], FILES
    wanted = next((each for each in parser._actions if not each.option_strings), None)
    if wanted is None or wanted.dest not in ("job", "jobs"):
        return _values(wanted, last)
    try:
        return [name for name in _jobs(before) if name.startswith(last)], NO_FILES
    except (Problem, ApiError, SystemExit):
        return [], NO_FILES


def _parser(command: str | None) -> argparse.ArgumentParser:
    from pdj.main import build_parser, common_options, load_command

    return build_parser(command, load_command(command)) if command else common_options()


def _values(action: argparse.Action | None, last: str) -> tuple[list[str], int]:
    """The values of an option or an argument that begin with `last`, and the directive."""
    if action is None:
        return [], NO_FILES
    takes_files = any(each in str(action.metavar) for each in ("FILE", "FOLDER"))
    values = [str(each) for each in action.choices or () if str(each).startswith(last)]
    return values, FILES if takes_files else NO_FILES


def _jobs(before: Sequence[str]) -> list[str]:
    from api.objects import name_of
    from pdj.gather.jobs import list_rows
    from pdj.session import Session

    session = Session(_parser(None).parse_known_args([*before])[0])
    return [name_of(job) for job in list_rows(session.client, session.namespace)]
