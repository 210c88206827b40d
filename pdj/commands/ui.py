"""`ui`: a local page that shows jobs and changes them, within the user's permissions."""

import argparse

from pdj.commands.explain import environment_language
from pdj.errors import OK, Problem
from pdj.gather.jobs import check_served
from pdj.session import Session

MAX_PORT = 65535


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `ui`."""
    parser.add_argument(
        "-A", "--all-namespaces", action="store_true", help="the jobs of all namespaces"
    )
    parser.add_argument("--port", type=_port, help="port on this machine; 0: any free port")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")


def run(session: Session) -> int:
    """Serve the page until Ctrl-C."""
    try:
        from pdj.ui.server import serve
    except ModuleNotFoundError as error:
        raise Problem(
            f"the page needs a package that is not installed ({error.name}): "
            "pip install 'paddlejob[ui]'"
        ) from error
    check_served(session.client)
    namespace = "" if session.options.all_namespaces else session.namespace
    serve(session, namespace, environment_language())
    return OK


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > MAX_PORT:
        raise argparse.ArgumentTypeError(f"not a port: {text}")
    return int(text)
