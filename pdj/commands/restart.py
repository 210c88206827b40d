"""`restart JOB…`: a new attempt, uncharged, by the annotation that asks the operator for it."""

import argparse

from api.constants import ANNOTATION_RESTARTED_AT, Phase
from api.objects import Raw, format_micro_time
from pdj.commands.suspend import refuse_ended
from pdj.commands.wait import add_wait, wait_for
from pdj.errors import OK, Problem
from pdj.gather.jobs import get_job
from pdj.gather.paths import jobs_path
from pdj.session import Session
from pdj.text.terminal import plain


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `restart`."""
    parser.add_argument("jobs", nargs="+", metavar="JOB", help="the job's name")
    add_wait(parser, "the new attempt runs")


def run(session: Session) -> int:
    """Ask for a new attempt of each job."""
    for name in session.options.jobs:
        raw = get_job(session.client, session.namespace, name)
        refuse_ended(raw, name)
        if (raw["spec"] or {}).get("suspend"):
            raise Problem(f"the job {name} is suspended; resuming it begins a new attempt")
        value = format_micro_time(session.now)
        patch = {"metadata": {"annotations": {ANNOTATION_RESTARTED_AT: value}}}
        session.client.merge_patch(jobs_path(session.namespace, name), patch)
        session.screen.write(f"{plain(name)} restarted")
        if session.options.wait:
            _wait(session, name, value)
    return OK


def _wait(session: Session, name: str, value: str) -> None:
    def runs_anew(raw: Raw) -> bool:
        status = raw.get("status") or {}
        phase = status.get("phase")
        has_begun = status.get("restartedAt") == value
        return has_begun and phase in (Phase.RUNNING, Phase.COMPLETING, Phase.COMPLETED)

    wait_for(session, name, runs_anew, lambda _raw: OK)
