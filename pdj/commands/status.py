"""`status JOB`: the job as a tree, once or as it changes."""

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pdj.commands.options import job_name, seconds
from pdj.commands.output import add_output, print_objects
from pdj.errors import OK, Usage
from pdj.facts.picture import JobPicture
from pdj.gather.jobs import look
from pdj.session import Session
from pdj.text.status import draw_job

if TYPE_CHECKING:
    from pdj.facts.facts import Facts

TICK_SECONDS = 1.0
"""On a terminal, a watched tree is drawn at least this often, because ages grow."""


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
    if options.output:
        picture = look(session.client, session.namespace, options.job)
        value = {"job": picture.raw, "pods": list(picture.pods)}
        print_objects(session, value, [picture.raw])
        return OK
    from pdj.gather.facts import gather  # these take time to import
    from pdj.gather.live import result_of
    from pdj.gather.progress import TrainingReader

    read = TrainingReader(session.client, session.clock).read
    facts: Facts | None = None
    for picture in _watch(session) if options.watch else _once(session):
        # Whether workers train alone is not asked again each second, nor forgotten.
        is_known = facts and (facts.alone or picture == facts.picture)
        known = facts.answers if facts and is_known else {}
        facts = gather(session.client, picture, read, "head", known)
        lines = draw_job(facts, screen.paint, session.now, screen.columns())
        if options.watch:
            screen.redraw(lines)
        else:
            screen.write(*lines)
    result = result_of(facts.picture.raw) if facts and options.watch else OK
    return result or OK


def _once(session: Session) -> Iterator[JobPicture]:
    yield look(session.client, session.namespace, session.options.job)


def _watch(session: Session) -> Iterator[JobPicture]:
    """The job whenever it has changed, and each second on a terminal, until it has ended."""
    from pdj.gather.live import Deadline, LiveJob, gone, result_of

    name = session.options.job
    shown: JobPicture | None = None
    deadline = Deadline(session.options.timeout, name, session.clock)
    with LiveJob(session.client, session.namespace, name, session.clock) as live:
        while True:
            picture = live.picture()
            if picture is None and shown is not None:
                raise gone(name)
            if picture is not None:
                if picture != shown or session.screen.is_terminal:
                    yield picture
                shown = picture
                if result_of(picture.raw) is not None:
                    return
            elif live.is_known:
                look(session.client, session.namespace, name)  # raises if there is no job
            deadline.wait(live.changed, TICK_SECONDS)
