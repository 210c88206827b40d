"""`suspend JOB…` and `resume JOB…`: both set `spec.suspend`."""

import argparse

from api.constants import Phase
from api.objects import Raw
from pdj import actions
from pdj.commands.complaints import for_each
from pdj.commands.options import job_name
from pdj.commands.wait import add_wait, wait_for
from pdj.errors import OK
from pdj.gather.jobs import get_job
from pdj.session import Session
from pdj.text.terminal import plain


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of both commands."""
    parser.add_argument("jobs", type=job_name, nargs="+", metavar="JOB", help="the job's name")
    add_wait(parser, "this is done")


def run(session: Session) -> int:
    """Suspend the jobs."""
    return change(session, True)


def change(session: Session, value: bool) -> int:
    """Set `spec.suspend` of the jobs."""
    client = session.client

    def change_one(name: str) -> None:
        raw = get_job(client, session.namespace, name)
        actions.suspend(client, raw, value)
        session.screen.write(f"{plain(name)} {'suspended' if value else 'resumed'}")
        if session.options.wait:
            wait_for(session, name, _is_held if value else runs, lambda _raw: OK)

    return for_each(session.options.jobs, change_one)


def _is_held(raw: Raw) -> bool:
    return _phase(raw) == Phase.SUSPENDED


def runs(raw: Raw) -> bool:
    """Whether the job runs or has completed."""
    return _phase(raw) in (Phase.RUNNING, Phase.COMPLETING, Phase.COMPLETED)


def _phase(raw: Raw) -> str:
    return str((raw.get("status") or {}).get("phase") or "")
