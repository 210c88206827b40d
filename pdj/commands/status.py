"""`status JOB`: the job as a tree, once or as it changes."""

import argparse
from typing import TYPE_CHECKING

from pdj.commands.options import job_name, seconds
from pdj.commands.output import add_output, print_objects
from pdj.errors import OK, Usage
from pdj.facts.picture import JobPicture
from pdj.gather.jobs import look
from pdj.session import Session
from pdj.text.status import draw_job

if TYPE_CHECKING:
    from pdj.facts.training import Training

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
    if session.options.watch and session.options.output:
        raise Usage("--output cannot be used with --watch")
    if session.options.watch:
        return _watch(session)
    picture = look(session.client, session.namespace, session.options.job)
    if session.options.output:
        value = {"job": picture.raw, "pods": list(picture.pods)}
        print_objects(session, value, [picture.raw])
    else:
        from pdj.gather.progress import read_training  # takes time to import

        alone = _alone(session, picture)
        training = read_training(session.client, picture.job, session.clock)
        session.screen.write(*_draw(session, picture, training, alone))
    return OK


def _draw(
    session: Session, picture: JobPicture, training: "Training | None", alone: str
) -> list[str]:
    screen = session.screen
    return draw_job(picture, screen.paint, session.now, screen.columns(), training, alone)


def _alone(session: Session, picture: JobPicture) -> str:
    from pdj.gather.facts import gather  # takes time to import

    return gather(session.client, picture, only="head").alone


def _watch(session: Session) -> int:
    from pdj.gather.live import Deadline, LiveJob, gone, result_of
    from pdj.gather.progress import TrainingReader

    name = session.options.job
    shown: JobPicture | None = None
    alone = ""
    deadline = Deadline(session.options.timeout, name, session.clock)
    reader = TrainingReader(session.client, session.clock)
    with LiveJob(session.client, session.namespace, name, session.clock) as live:
        while True:
            picture = live.picture()
            if picture is None and shown is not None:
                raise gone(name)
            if picture is not None:
                is_news = shown is None or picture != shown
                shown = picture
                alone = alone or (_alone(session, picture) if is_news else "")
                if is_news or session.screen.is_terminal:
                    training = reader.read(picture.job)
                    session.screen.redraw(_draw(session, picture, training, alone))
                result = result_of(picture.raw)
                if result is not None:
                    return result
            elif live.is_known:
                look(session.client, session.namespace, name)  # raises if there is no job
            deadline.wait(live.changed, TICK_SECONDS)
