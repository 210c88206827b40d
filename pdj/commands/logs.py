"""`logs JOB`: the logs of all pods in order of time, up to now or until the job ends."""

import argparse
from collections.abc import Callable
from contextlib import closing
from dataclasses import fields

from api.constants import Role
from pdj.act.follow import read_log
from pdj.commands.options import ago, job_name, natural, seconds
from pdj.errors import OK
from pdj.facts.picture import JobPicture, result_of
from pdj.gather.jobs import Handle
from pdj.gather.logs import Wish
from pdj.session import Session
from pdj.text.logs import LogPrinter
from pdj.text.terminal import plain

FOLLOWING = Wish(follow=True)


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `logs`."""
    parser.add_argument("job", type=job_name, help="the job's name; with -f it need not exist yet")
    parser.add_argument(
        "-f",
        "--follow",
        action="store_true",
        help="go on until the job ends; exit code 0 if it completes, 1 if it fails",
    )
    parser.add_argument("--role", default="", choices=list(map(str, Role)), help="only this role")
    parser.add_argument("--index", type=int, help="only this index")
    parser.add_argument("--attempt", type=int, help="only this attempt, counted from 1")
    parser.add_argument(
        "-c", "--container", default="", help="not the trainer's logs, but this container's"
    )
    parser.add_argument("--all-containers", action="store_true", help="the logs of every container")
    parser.add_argument(
        "--since", type=ago, metavar="5m", help="only lines that are not older than this"
    )
    parser.add_argument(
        "--tail", type=natural, metavar="N", help="only the last N lines of each run of a container"
    )
    parser.add_argument(
        "--launcher-settings",
        action="store_true",
        help="also the settings of PaddlePaddle's launcher, for which one line stands",
    )
    parser.add_argument("--timestamps", action="store_true", help="print the time of each line")
    parser.add_argument("--no-prefix", action="store_true", help="leave out the pods' names")
    parser.add_argument("--timeout", type=seconds, metavar="SECONDS", help="how long -f may take")


def run(session: Session) -> int:
    """Print the lines; with --follow, returns the exit code for the job's result."""
    options = session.options
    wish = Wish(**{each.name: getattr(options, each.name) for each in fields(Wish)})
    shape = options.timestamps, options.no_prefix, options.all_containers
    code = print_log(session, session.handle(options.job), lambda _picture: None, wish, *shape)
    return code if options.follow else OK


def print_log(
    session: Session,
    handle: Handle,
    on_turn: Callable[[JobPicture | None], None],
    wish: Wish = FOLLOWING,
    *shape: bool,
) -> int:
    """Print lines and notes; returns the exit code for the job's phase, 0 while it has not ended.

    `on_turn` is called repeatedly with the current job, or None; its exceptions are passed on.
    """
    result: int | None = None
    printer = LogPrinter(handle.name, session.screen.has_colour, *shape)
    with closing(read_log(handle, wish)) as turns:
        for picture, notes, lines in turns:
            on_turn(picture)
            session.notes.write(*map(plain, notes))
            session.screen.write(*printer.format(picture, lines))
            result = result_of(picture.raw) if picture else None
    return result or OK
