"""`kubectl pdj`: which command is meant, and how its end is told.

Whatever goes wrong is one line on standard error and an exit code (see `errors`). Options that all
commands have may stand before and after the command's name.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType

from controller.client.errors import ApiError, Forbidden, Unauthorized
from pdj.commands import COMMANDS
from pdj.errors import FAILED, INTERRUPTED, USAGE, Problem
from pdj.session import Session
from pdj.text.terminal import plain

PROGRAM = "kubectl pdj"
MAX_LINE = 2000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the process's exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # An undecodable byte of a log must not end the command where the locale is not UTF-8.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        return _run(given)
    except Problem as problem:
        return _say(str(problem), problem.code)
    except ApiError as error:
        return _say(_explain(error), FAILED)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has gone. Python would complain at its own end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def run() -> None:
    """The console script `kubectl-pdj`."""
    sys.exit(main())


def _run(given: list[str]) -> int:
    before, command, after = _split(given)
    options = _common().parse_args(before)
    if command is None:
        _top().print_help()
        return USAGE
    if command not in COMMANDS:
        close = ", ".join(sorted(COMMANDS))
        raise _usage(f"no command {plain(command)!r}; there are: {close}")
    module = load_command(command)
    words, program = _at_dashes(after)
    parser = build_parser(command, module)
    options = parser.parse_args(words, options)
    options.program = program
    return int(module.run(Session(options)))


def load_command(name: str) -> ModuleType:
    """The module of a command."""
    return importlib.import_module(f"pdj.commands.{COMMANDS[name].module}")


def build_parser(name: str, module: ModuleType) -> argparse.ArgumentParser:
    """The options of one command."""
    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} {name}",
        description=COMMANDS[name].help,
        parents=[_common(is_after=True)],
        allow_abbrev=False,
    )
    module.configure(parser)
    return parser


def _common(is_after: bool = False) -> argparse.ArgumentParser:
    """Options of every command. After its name they have no defaults, or these would win."""
    parser = argparse.ArgumentParser(prog=PROGRAM, add_help=False, allow_abbrev=False)
    group = parser.add_argument_group("where")
    unset = argparse.SUPPRESS if is_after else None
    group.add_argument("-n", "--namespace", default=unset, help="the namespace")
    group.add_argument("--context", default=unset, help="a context of the kubeconfig")
    group.add_argument("--kubeconfig", metavar="FILE", default=unset, help="the kubeconfig")
    return parser


def _top() -> argparse.ArgumentParser:
    names = max(map(len, COMMANDS))
    lines = [f"  {name:<{names}}  {command.help}" for name, command in COMMANDS.items()]
    return argparse.ArgumentParser(
        prog=PROGRAM,
        usage=f"{PROGRAM} COMMAND [options]",
        description="Works with PaddleJobs.\n\ncommands:\n" + "\n".join(lines),
        epilog=f"`{PROGRAM} COMMAND --help` tells more.",
        parents=[_common()],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _split(given: list[str]) -> tuple[list[str], str | None, list[str]]:
    """The options before the command, the command, and what comes after it."""
    at = 0
    while at < len(given):
        word = given[at]
        if word in ("-h", "--help"):
            _top().print_help()
            raise SystemExit(0)
        if not word.startswith("-"):
            return given[:at], word, given[at + 1 :]
        takes_value = word in ("-n", "--namespace", "--context", "--kubeconfig")
        at += 2 if takes_value else 1
    return given, None, []


def _at_dashes(words: list[str]) -> tuple[list[str], list[str]]:
    """The words before `--`, and those after it, which are a program's."""
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]


def _usage(text: str) -> Problem:
    problem = Problem(text)
    problem.code = USAGE
    return problem


def _explain(error: ApiError) -> str:
    if isinstance(error, Unauthorized):
        return f"the API server does not accept the login (has it expired?): {error.message}"
    if isinstance(error, Forbidden):
        return f"not allowed: {error.message}"
    return error.message


def _say(text: str, code: int) -> int:
    line = plain(" ".join(text.split()))
    shown = line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}…"
    sys.stderr.write(f"error: {shown}\n")
    return code
