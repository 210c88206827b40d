"""`resume JOB…`: the other half of `suspend`."""

from pdj.commands import suspend
from pdj.session import Session

configure = suspend.configure


def run(session: Session) -> int:
    """Let the jobs go on."""
    return suspend.change(session, False)
