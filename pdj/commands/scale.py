"""`scale JOB --workers N`: like `kubectl scale`, but explains a refusal."""

import argparse
from functools import partial

from pdj.act.change import scale
from pdj.commands.options import job_name
from pdj.commands.wait import add_wait, change_jobs
from pdj.session import Session


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `scale`."""
    parser.add_argument("job", type=job_name, help="the job's name")
    parser.add_argument("--workers", type=int, required=True, help="the number of workers")
    add_wait(parser, "that many workers run (if suspended: until the operator has seen the number)")


def run(session: Session) -> int:
    """Change the number of workers."""
    act = partial(scale, workers=session.options.workers)
    return change_jobs(session, [session.options.job], act)
