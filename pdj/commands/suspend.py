"""`suspend JOB…` and `resume JOB…`: `spec.suspend`."""

import argparse

from api.constants import Phase
from api.objects import Raw
from pdj.commands.wait import add_wait, wait_for
from pdj.errors import OK, Problem
from pdj.gather.jobs import get_job
from pdj.gather.live import result_of
from pdj.gather.paths import jobs_path
from pdj.session import Session
from pdj.text.terminal import plain


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of both commands."""
    parser.add_argument("jobs", nargs="+", metavar="JOB", help="the job's name")
    add_wait(parser, "it is so")


def run(session: Session) -> int:
    """Hold the jobs."""
    return change(session, True)


def change(session: Session, value: bool) -> int:
    """Set `spec.suspend` of the jobs."""
    for name in session.options.jobs:
        raw = get_job(session.client, session.namespace, name)
        refuse_ended(raw, name)
        path = jobs_path(session.namespace, name)
        session.client.merge_patch(path, {"spec": {"suspend": value}})
        session.screen.write(f"{plain(name)} {'suspended' if value else 'resumed'}")
        if session.options.wait:
            wait_for(session, name, _is_held if value else _runs, lambda _raw: OK)
    return OK


def refuse_ended(raw: Raw, name: str) -> None:
    """Raise Problem for a job that has ended: nothing changes it any more."""
    if result_of(raw) is not None:
        phase = raw["status"]["phase"]
        raise Problem(
            f"the job {name} has ended ({phase}); delete it and submit it again to run it anew"
        )


def _is_held(raw: Raw) -> bool:
    return _phase(raw) == Phase.SUSPENDED


def _runs(raw: Raw) -> bool:
    return _phase(raw) in (Phase.RUNNING, Phase.COMPLETING, Phase.COMPLETED)


def _phase(raw: Raw) -> str:
    return str((raw.get("status") or {}).get("phase") or "")
