"""`kubectl pdj`: finds the command, runs it and reports its result.

Every error is one line on standard error and an exit code (see `errors`). Options that all commands
have can come before or after the command's name.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType

from kube.errors import ApiError
from pdj.commands import COMMANDS
from pdj.commands.complaints import complain, say
from pdj.errors import FAILED, INTERRUPTED, OK, USAGE, Problem, Usage
from pdj.session import Session
from pdj.text.terminal import plain

PROGRAM = "kubectl pdj"
PROGRAMS_COMMAND = "run"
BUG = "a bug of kubectl pdj"
DEBUG = "PDJ_DEBUG"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the process's exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _open_missing()
    # A character that the locale cannot encode must not end the command.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        return _run(given)
    except (Problem, ApiError) as error:
        return complain(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has gone. Python would report that on exit.
        _print_no_more()
        return FAILED
    except OSError as error:
        _print_no_more()
        file = f": {error.filename}" if error.filename else ""
        return say(f"{error.strerror or error}{file}", FAILED)
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        return say(f"{BUG}: {type(error).__name__}: {error} ({DEBUG}=1 shows where)", FAILED)


def _open_missing() -> None:
    """Open /dev/null in place of a standard stream that was closed at start."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def _print_no_more() -> None:
    """Drop output that cannot be printed, so that Python reports no error about it on exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(given: list[str]) -> int:
    words, program = _at_dashes(given)
    options, words = common_options().parse_known_args(words)
    if not words or words[0] in ("-h", "--help"):
        _top().print_help()
        return OK if words else USAGE
    command, *words = words
    if command not in COMMANDS:
        close = ", ".join(sorted(COMMANDS))
        raise Usage(f"no command {plain(command)!r}; there are: {close}")
    module = load_command(command)
    if program and command != PROGRAMS_COMMAND:
        raise Usage(f"only {PROGRAMS_COMMAND} takes a program's words after --")
    parser = build_parser(command, module)
    # Options can come between the names of jobs or files, as for kubectl.
    options = parser.parse_intermixed_args(words, options)
    options.program = program
    _refuse_idle_timeout(options)
    return int(module.run(Session(options)))


def _refuse_idle_timeout(options: argparse.Namespace) -> None:
    """Raise Usage for `--timeout` without a wait, because it would be ignored."""
    waits = {"--wait": "wait", "--watch": "watch", "--follow": "follow", "--local": "local"}
    has = {flag: getattr(options, name) for flag, name in waits.items() if hasattr(options, name)}
    if getattr(options, "timeout", None) is not None and not any(has.values()):
        raise Usage(f"--timeout needs {' or '.join(has)}: this command does not wait")


def load_command(name: str) -> ModuleType:
    """Import the module of a command."""
    return importlib.import_module(f".commands.{COMMANDS[name].module}", __package__)


def build_parser(name: str, module: ModuleType) -> argparse.ArgumentParser:
    """The options of one command."""
    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} {name}",
        description=COMMANDS[name].help,
        parents=[common_options()],
        allow_abbrev=False,
    )
    module.configure(parser)
    return parser


def common_options() -> argparse.ArgumentParser:
    """Options of every command."""
    parser = argparse.ArgumentParser(prog=PROGRAM, add_help=False, allow_abbrev=False)
    group = parser.add_argument_group("where")
    group.add_argument("-n", "--namespace", help="the namespace")
    group.add_argument("--context", help="a context of the kubeconfig")
    group.add_argument("--kubeconfig", metavar="FILE", help="the kubeconfig")
    return parser


def _top() -> argparse.ArgumentParser:
    names = max(map(len, COMMANDS))
    lines = [f"  {name:<{names}}  {command.help}" for name, command in COMMANDS.items()]
    return argparse.ArgumentParser(
        prog=PROGRAM,
        usage=f"{PROGRAM} COMMAND [options]",
        description="Works with PaddleJobs.\n\ncommands:\n" + "\n".join(lines),
        epilog=f"`{PROGRAM} COMMAND --help` shows its options.",
        parents=[common_options()],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _at_dashes(words: list[str]) -> tuple[list[str], list[str]]:
    """The words before `--`, and those after it, which belong to a program."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]
