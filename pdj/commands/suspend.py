"""`suspend JOB…`: deletes the jobs' pods; the jobs stay."""

import argparse

from pdj.act import change
from pdj.commands.options import job_name
from pdj.commands.wait import add_wait, change_jobs
from pdj.session import Session


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of both commands."""
    parser.add_argument("jobs", type=job_name, nargs="+", metavar="JOB", help="the job's name")
    add_wait(parser, "this is done")


def run(session: Session) -> int:
    """Suspend the jobs."""
    return change_jobs(session, session.options.jobs, change.suspend)
