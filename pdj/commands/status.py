"""`status JOB`: the job as a tree, once or as it changes."""

import argparse
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from typing import TYPE_CHECKING

from api.constants import Phase
from pdj.commands.options import job_name, seconds
from pdj.commands.output import add_output, print_objects
from pdj.errors import FAILED, OK, Usage
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
    facts: Facts | None = None
    if options.watch:
        source: AbstractContextManager[Iterator[JobPicture]] = closing(_watch(session))
    else:
        source = nullcontext(iter([look(session.client, session.namespace, options.job)]))
    with source as pictures:
        if options.output:
            picture = next(pictures)
            value = {"job": picture.raw, "pods": list(picture.pods)}
            print_objects(session, value, [picture.raw])
            return OK
        from pdj.gather.facts import gather  # these take time to import
        from pdj.gather.progress import TrainingReader

        read = TrainingReader(session.client, session.clock).read
        for picture in pictures:
            # Whether workers train alone is not asked again each second, nor forgotten.
            is_known = facts and (facts.alone or picture == facts.picture)
            known = facts.answers if facts and is_known else {}
            facts = gather(session.client, picture, read, "head", known)
            lines = draw_job(facts, screen.paint, session.now, screen.columns())
            if options.watch:
                screen.redraw(lines)
            else:
                screen.write(*lines)
    has_failed = facts and facts.job.status.phase == Phase.FAILED
    return FAILED if options.watch and has_failed else OK


def _watch(session: Session) -> Generator[JobPicture, None, None]:
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
