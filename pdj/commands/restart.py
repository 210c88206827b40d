"""`restart JOB…`: asks for a new attempt, which does not count against backoffLimit."""

import argparse
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from tempfile import NamedTemporaryFile

from api.objects import Raw, format_micro_time, name_of, namespace_of, uid_of
from kube.client import STRICT
from kube.errors import ApiError, Transient
from pdj import actions
from pdj.code.store import held
from pdj.commands.backup import bare
from pdj.commands.complaints import for_each
from pdj.commands.options import job_name
from pdj.commands.suspend import runs
from pdj.commands.wait import add_wait, wait_for, wait_until_gone
from pdj.errors import OK, Problem
from pdj.gather.jobs import get_job
from pdj.gather.live import result_of
from pdj.gather.paths import jobs_path
from pdj.session import Session
from pdj.text.terminal import plain

TRIAL = 30
"""How many characters of the name the dry run keeps: the API server adds random ones."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `restart`."""
    parser.add_argument("jobs", type=job_name, nargs="+", metavar="JOB", help="the job's name")
    again = "for a job that has ended: delete it, and create it again with the same fields"
    parser.add_argument("--submit-again", action="store_true", help=again)
    add_wait(parser, "the new attempt runs")


def run(session: Session) -> int:
    """Ask for a new attempt of each job; with --submit-again, create ended jobs again."""
    client = session.client

    def restart(name: str) -> None:
        raw = get_job(client, session.namespace, name)
        if session.options.submit_again and result_of(raw) is not None:
            submit_again(session, raw)
            return
        value = format_micro_time(session.now)
        actions.restart(client, raw, value)
        session.screen.write(f"{plain(name)} restarted")
        if session.options.wait:
            _wait(session, name, value)

    return for_each(session.options.jobs, restart)


def submit_again(session: Session, raw: Raw) -> None:
    """Delete an ended job, and create it again with the same fields."""
    name = name_of(raw)
    job = bare(raw)
    job.pop("status", None)
    replace_job(session, raw, job)
    session.screen.write(f"{plain(name)} submitted again")
    if session.options.wait:
        wait_for(session, name, runs, lambda _raw: OK)


def replace_job(session: Session, old: Raw, job: Raw) -> Raw:
    """Delete a job and create another with its name; returns the created object.

    Nothing is deleted unless a dry run shows that the API server accepts the new job. If creating
    the new job fails all the same, the job is printed and written to a file. A note of the error
    names the file.
    """
    name, namespace = name_of(old), namespace_of(old)
    path = jobs_path(namespace)
    trial = {**job, "metadata": {**job["metadata"], "name": None, "generateName": name[:TRIAL]}}
    session.client.create(path, trial, {**STRICT, "dryRun": "All"})
    is_asked = False
    try:
        with interrupted_by_signals(), held(session.client, job, session.note):
            session.client.delete(jobs_path(namespace, name), uid_of(old))
            is_asked = True
            wait_until_gone(session, name, uid_of(old), namespace)
            return session.client.create(path, job, STRICT)
    except (ApiError, Problem, KeyboardInterrupt) as error:
        if is_asked or isinstance(error, Transient | KeyboardInterrupt):
            deleted = "is deleted" if is_asked else "may be deleted"
            text = json.dumps(job, indent=2)
            try:
                session.screen.write(text)
            finally:  # printing fails if the terminal is closed
                kept = _keep(name, text)
                note = (
                    f"{plain(name)} {deleted} and could not be created again; it is kept in {kept}"
                )
                error.add_note(note)
                session.notes.write(note)
        raise


def _keep(name: str, text: str) -> str:
    """Write a job to a new file; returns its path."""
    with NamedTemporaryFile("w", prefix=f"{name}-", suffix=".json", delete=False) as file:
        file.write(text)
    return file.name


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Let SIGTERM, and SIGHUP of a closed terminal, interrupt the block as Ctrl-C does.

    Signals that are ignored or handled already are left alone. Only the main thread can do this.
    """
    before = {}
    with suppress(ValueError):
        for each in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(each) is signal.SIG_DFL:
                before[each] = signal.signal(each, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait(session: Session, name: str, value: str) -> None:
    def runs_anew(raw: Raw) -> bool:
        return runs(raw) and raw["status"].get("restartedAt") == value

    wait_for(session, name, runs_anew, lambda _raw: OK)
