"""`delete JOB…`: deletes jobs and everything that they own."""

import argparse

from api.objects import Raw, name_of, uid_of
from kube.errors import NotFound
from pdj.act import change
from pdj.act.wait import wait_until_gone
from pdj.code.store import find_orphans, settle
from pdj.commands.complaints import for_each
from pdj.commands.options import job_name
from pdj.commands.wait import add_wait
from pdj.errors import Usage
from pdj.gather.jobs import get_job
from pdj.gather.paths import jobs_path
from pdj.session import Session
from pdj.text.terminal import plain


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `delete`."""
    parser.add_argument("jobs", type=job_name, nargs="*", metavar="JOB", help="the job's name")
    parser.add_argument(
        "--ignore-not-found", action="store_true", help="ignore jobs that do not exist"
    )
    orphans = "delete ConfigMaps of --code that a killed command has left"
    parser.add_argument("--orphans", action="store_true", help=orphans)
    add_wait(parser, "they are gone")


def run(session: Session) -> int:
    """Delete the jobs that exist now, but no later ones with their names. `--orphans` deletes
    ConfigMaps of code that no job uses.
    """
    if not session.options.jobs and not session.options.orphans:
        raise Usage("the name of a JOB is required, or --orphans")
    client = session.client

    def delete(name: str) -> None:
        if session.options.ignore_not_found and not client.find(jobs_path(session.namespace, name)):
            return
        raw = get_job(client, session.namespace, name)
        try:
            change.delete(client, raw)
        except NotFound:
            session.notes.write(f"{plain(name)} was deleted already")
            return
        session.screen.write(f"{plain(name)} deleted")
        if session.options.wait:
            wait_until_gone(session.handle(name), uid_of(raw))

    def clear(orphan: Raw) -> None:
        if settle(client, orphan, session.note):
            session.screen.write(f"{plain(name_of(orphan))} deleted")

    code = for_each(session.options.jobs, delete)
    orphans = find_orphans(client, session.namespace) if session.options.orphans else []
    return max(code, for_each(orphans, clear))
