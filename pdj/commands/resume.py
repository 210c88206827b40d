"""`resume JOB…`: undoes `suspend`."""

from pdj.act import change
from pdj.commands import suspend
from pdj.commands.wait import change_jobs
from pdj.session import Session

configure = suspend.configure


def run(session: Session) -> int:
    """Resume the jobs."""
    return change_jobs(session, session.options.jobs, change.resume)
