"""`status JOB`: the job as a tree, once or as it changes."""

import argparse
from contextlib import closing

from api.constants import Phase
from pdj.commands.options import job_name, seconds
from pdj.commands.output import add_output, print_objects
from pdj.errors import FAILED, OK, Usage
from pdj.session import Session
from pdj.text.status import draw_job


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `status`."""
    parser.add_argument("job", type=job_name, help="the job's name")
    parser.add_argument("-w", "--watch", action="store_true", help="go on until the job has ended")
    parser.add_argument("--timeout", type=seconds, metavar="SECONDS", help="how long -w may take")
    add_output(parser)


def run(session: Session) -> int:
    """Print the tree, or objects; with --watch, returns the exit code for the job's result."""
    options, screen = session.options, session.screen
    if options.watch and options.output:
        raise Usage("--output cannot be used with --watch")
    from pdj.gather.live import pictures  # these take time to import
    from pdj.gather.progress import with_training

    handle, phase = session.handle(options.job), ""
    with closing(pictures(handle, options.watch, screen.is_terminal)) as found:
        if options.output:
            picture = next(found)
            value = {"job": picture.raw, "pods": list(picture.pods)}
            print_objects(session, value, [picture.raw])
            return OK
        for facts in with_training(handle, found):
            lines = draw_job(facts, screen.paint, session.now, screen.columns())
            phase = facts.job.status.phase
            if options.watch:
                screen.redraw(lines)
            else:
                screen.write(*lines)
    return FAILED if options.watch and phase == Phase.FAILED else OK
