"""Begins a new attempt when a user asks for one with the annotation `restarted-at`.

As with `kubectl rollout restart`, each new value means one new attempt. The attempt does not count
against backoffLimit and begins without a back-off. Status stores the handled value in the same
write that begins the attempt, so each value takes effect once, even if the operator crashes.
"""

from dataclasses import replace

from api.constants import Condition, Reason
from api.status import JobStatus
from reconcile.attempt.restart import begin_attempt, quick_restarts
from reconcile.failure.incident import Incident
from reconcile.model.move import Move
from reconcile.model.view import View


def find_requested_restart(view: View) -> Move | None:
    """The next attempt if the user has asked for one, or None."""
    if not _asks(view) or not _can_restart(view):
        return None
    message = f"a user asked for a restart: {view.job.restarted_at}"
    incident = Incident(Reason.RESTART_REQUESTED, message, is_charged=False)
    answered = replace(view.job.status, restarted_at=view.job.restarted_at)
    transition = begin_attempt(view, answered, incident)
    # A requested restart is no failure: it does not lengthen the next back-off, and the user has
    # perhaps fixed the cause of earlier failures.
    status = replace(transition.status, quick_restarts=quick_restarts(view), fruitless_restarts=0)
    return replace(transition, status=status)


def note_request(view: View, status: JobStatus) -> JobStatus:
    """Record a request as handled when there is nothing to restart.

    A new job can have the annotation already, and a suspended job resumes with a new attempt.
    """
    if not _asks(view) or _can_restart(view) or status.is_terminal:
        return status
    return replace(status, restarted_at=view.job.restarted_at)


def _asks(view: View) -> bool:
    return view.job.restarted_at not in ("", view.job.status.restarted_at)


def _can_restart(view: View) -> bool:
    """Whether status shows an attempt that is not suspended."""
    return bool(view.job.status.phase) and not view.job.status.is_true(Condition.SUSPENDED)
