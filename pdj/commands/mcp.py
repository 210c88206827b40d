"""`mcp`: serves these commands as tools for an agent, on standard input and output."""

import argparse
import signal

from pdj.errors import OK, Problem
from pdj.session import Session


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `mcp`."""
    allowed = "also serve tools that change jobs: submit, suspend, resume, restart"
    parser.add_argument("--allow-writes", action="store_true", help=allowed)


def run(session: Session) -> int:
    """Serve until standard input ends."""
    try:
        from pdj.mcp.server import Server, Tools
    except ModuleNotFoundError as error:
        raise Problem(
            f"this needs a package that is not installed ({error.name}): "
            "pip install 'paddlejob[mcp]'"
        ) from error
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a thread that reads a terminal would outlast it
    tools = Tools(session.login, session.options.namespace, session.clock)
    try:
        Server(tools, session.options.allow_writes).run()
    except* BrokenPipeError:  # the agent's program has ended
        pass
    return OK
