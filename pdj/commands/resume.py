"""`resume JOB…`: undoes `suspend`."""

from pdj.commands import suspend
from pdj.session import Session

configure = suspend.configure


def run(session: Session) -> int:
    """Resume the jobs."""
    return suspend.change(session, False)
