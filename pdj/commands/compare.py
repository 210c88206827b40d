"""`compare A B`: two jobs side by side, by step and by time, with what differs in their specs."""

import argparse

from pdj.commands.options import job_name
from pdj.errors import OK
from pdj.session import Session


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `compare`."""
    parser.add_argument("jobs", nargs=2, type=job_name, metavar="JOB", help="two jobs' names")


def run(session: Session) -> int:
    """Print the comparison."""
    from pdj.facts.picture import read_job
    from pdj.gather.jobs import get_job
    from pdj.gather.progress import TrainingReader
    from pdj.text.compare import compare, draw_comparison

    jobs = [get_job(session.client, session.namespace, name) for name in session.options.jobs]
    read = [TrainingReader(session.client, session.clock).read(read_job(each)) for each in jobs]
    session.screen.write(*draw_comparison(compare(jobs, read, session.now)))
    return OK
