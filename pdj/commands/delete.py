"""`delete JOB…`: deletes jobs; what they own goes with them."""

import argparse

from controller.client.errors import NotFound
from pdj.commands.wait import add_wait, wait_until_gone
from pdj.errors import OK
from pdj.gather.jobs import get_job
from pdj.gather.paths import jobs_path
from pdj.session import Session
from pdj.text.terminal import plain


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `delete`."""
    parser.add_argument("jobs", nargs="+", metavar="JOB", help="the job's name")
    parser.add_argument("--ignore-not-found", action="store_true", help="it may be gone already")
    add_wait(parser, "they are gone")


def run(session: Session) -> int:
    """Delete the jobs: those that are seen now, and no other of their names."""
    for name in session.options.jobs:
        path = jobs_path(session.namespace, name)
        if session.options.ignore_not_found and session.client.find(path) is None:
            continue
        uid = get_job(session.client, session.namespace, name)["metadata"]["uid"]
        try:
            session.client.delete(path, uid)
        except NotFound:
            session.notes.write(f"{plain(name)} was gone already")
            continue
        session.screen.write(f"{plain(name)} deleted")
        if session.options.wait:
            wait_until_gone(session, name, uid)
    return OK
