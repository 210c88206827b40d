"""`restart JOB…`: asks for a new attempt, which does not count against backoffLimit."""

import argparse

from api.objects import Raw, format_micro_time, name_of, namespace_of
from kube.client import Client
from pdj.act import change
from pdj.act.submit import replace_job
from pdj.commands.options import job_name
from pdj.commands.wait import add_wait, change_jobs
from pdj.facts.picture import has_ended
from pdj.session import Session


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `restart`."""
    parser.add_argument("jobs", type=job_name, nargs="+", metavar="JOB", help="the job's name")
    again = "for a job that has ended: delete it, and create it again with the same fields"
    parser.add_argument("--submit-again", action="store_true", help=again)
    add_wait(parser, "the new attempt runs")


def run(session: Session) -> int:
    """Ask for a new attempt of each job; with --submit-again, create ended jobs again."""

    def restart(client: Client, raw: Raw) -> change.Change:
        if session.options.submit_again and has_ended(raw):
            replace(session, raw)
            return change.Change("submitted again", change.runs)
        return change.restart(client, raw, format_micro_time(session.now))

    return change_jobs(session, session.options.jobs, restart)


def replace(session: Session, old: Raw, job: Raw | None = None) -> Raw:
    """Delete a job, and create another of its name, or one with the same fields; returns it. A job
    that could not be created again is printed.
    """

    def lost(text: str, note: str) -> None:
        try:
            session.screen.write(text)
        finally:  # printing fails if the terminal is closed
            session.note(note)

    handle = session.handle(name_of(old), namespace_of(old))
    return replace_job(handle, old, job, session.note, lost)
