"""`--wait`: waits until a job is in the requested state."""

import argparse
from collections.abc import Callable

from api.constants import Condition, Phase
from api.objects import Raw, condition_of, name_of
from kube.client import Client
from kube.errors import Forbidden
from pdj.act.change import Change
from pdj.act.wait import wait_for
from pdj.commands.complaints import for_each
from pdj.commands.options import seconds
from pdj.errors import OK
from pdj.facts.picture import JobPicture, has_ended, phase_of, result_of
from pdj.gather.jobs import Handle, get_job
from pdj.judge.story import first_line
from pdj.session import Screen, Session
from pdj.text.terminal import plain


def add_wait(parser: argparse.ArgumentParser, until: str) -> None:
    """The options `--wait` and `--timeout`."""
    parser.add_argument("--wait", action="store_true", help=f"wait until {until}")
    parser.add_argument("--timeout", type=seconds, metavar="SECONDS", help="how long to wait")


def phase_teller(notes: Screen) -> Callable[[Raw], None]:
    """A function that prints a job's phase for people whenever it has changed."""
    told = ""

    def tell(job: Raw) -> None:
        nonlocal told
        before, told = told, phase_of(job)
        if told not in ("", before):
            notes.write(plain(f"{name_of(job)}: {told}{_why(job, told)}"))

    return tell


def await_end(session: Session, handle: Handle) -> int:
    """Print the log until the job has ended, or with `-o` only the phases; returns the exit code
    for the job's result.
    """
    from pdj.commands.logs import print_log  # these take time to import
    from pdj.gather.joblog import NoLogs

    tell = phase_teller(session.notes)

    def tell_running(picture: JobPicture | None) -> None:
        if picture is not None and not picture.job.status.is_terminal:
            tell(picture.raw)

    if not session.options.output:
        try:
            return print_log(session, handle, tell_running)
        except (NoLogs, Forbidden) as error:  # we can wait for the job without its logs
            session.note(str(error))
    return result_of(wait_for(handle, has_ended, tell)) or OK


def change_jobs(session: Session, names: list[str], act: Callable[[Client, Raw], Change]) -> int:
    """Change each job, and with --wait wait until that is done, printing every phase."""
    client = session.client  # raises once for all jobs

    def change_one(name: str) -> None:
        word, is_done = act(client, get_job(client, session.namespace, name))
        session.screen.write(f"{plain(name)} {word}")
        if session.options.wait:
            wait_for(session.handle(name), is_done, phase_teller(session.notes))

    return for_each(names, change_one)


def _why(raw: Raw, phase: str) -> str:
    """For a failed job, the reason and the first line of its message; otherwise empty."""
    failed = condition_of(raw, Condition.FAILED) if phase == Phase.FAILED else None
    told = first_line(str(failed.get("message") or "")) if failed else ""
    return f": {failed.get('reason')}: {told}" if failed else ""
