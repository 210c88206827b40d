"""`delete JOB…`: deletes jobs and everything that they own."""

import argparse

from api.objects import uid_of
from kube.errors import NotFound
from pdj import actions
from pdj.commands.complaints import for_each
from pdj.commands.options import job_name
from pdj.commands.wait import add_wait, wait_until_gone
from pdj.gather.jobs import get_job
from pdj.gather.paths import jobs_path
from pdj.session import Session
from pdj.text.terminal import plain


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `delete`."""
    parser.add_argument("jobs", type=job_name, nargs="+", metavar="JOB", help="the job's name")
    parser.add_argument("--ignore-not-found", action="store_true", help="it may be gone already")
    add_wait(parser, "they are gone")


def run(session: Session) -> int:
    """Delete the jobs that exist now, but no later ones with the same names."""
    client = session.client

    def delete(name: str) -> None:
        path = jobs_path(session.namespace, name)
        if session.options.ignore_not_found and client.find(path) is None:
            return
        raw = get_job(client, session.namespace, name)
        try:
            actions.delete(client, raw)
        except NotFound:
            session.notes.write(f"{plain(name)} was gone already")
            return
        session.screen.write(f"{plain(name)} deleted")
        if session.options.wait:
            wait_until_gone(session, name, uid_of(raw))

    return for_each(session.options.jobs, delete)
