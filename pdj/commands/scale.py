"""`scale JOB --workers N`: like `kubectl scale`, but explains a refusal."""

import argparse

from api.objects import Raw
from pdj import actions
from pdj.commands.options import job_name
from pdj.commands.wait import add_wait, wait_for
from pdj.errors import OK
from pdj.gather.jobs import get_job
from pdj.session import Session
from pdj.text.terminal import plain


def configure(parser: argparse.ArgumentParser) -> None:
    """Options of `scale`."""
    parser.add_argument("job", type=job_name, help="the job's name")
    parser.add_argument("--workers", type=int, required=True, help="the number of workers")
    add_wait(parser, "that many workers run (if suspended: until the operator has seen the number)")


def run(session: Session) -> int:
    """Change the number of workers."""
    name, wanted = session.options.job, session.options.workers
    raw = get_job(session.client, session.namespace, name)
    made = actions.scale(session.client, raw, wanted)
    session.screen.write(f"{plain(name)} scaled to {wanted} worker{'s' * (wanted != 1)}")
    if session.options.wait:
        generation = made["metadata"]["generation"]
        wait_for(session, name, lambda job: _has_scaled(job, generation, wanted), lambda _raw: OK)
    return OK


def _has_scaled(raw: Raw, generation: int, wanted: int) -> bool:
    status = raw.get("status") or {}
    if status.get("observedGeneration", 0) < generation:
        return False
    running = (status.get("worker") or {}).get("running", 0)
    return bool(status.get("phase") == "Suspended" or running == wanted)
