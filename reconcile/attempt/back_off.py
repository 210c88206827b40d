"""The back-off before the pods of a new attempt are made."""

from datetime import timedelta

from api.constants import Condition, Reason
from api.objects import parse_time
from reconcile.attempt.restart import restart_delay
from reconcile.model.hold import Hold, Stop, clock_time
from reconcile.model.view import View

_AT_ONCE = (Reason.RESTART_REQUESTED, Reason.EVICTED)
"""Reasons without a back-off, because nothing has failed."""


def await_back_off(view: View) -> Hold | None:
    """The wait before a restarting job's pods can be created; None if there is no wait."""
    restarting = view.job.status.true_condition(Condition.RESTARTING)
    since = parse_time(restarting.last_transition_time) if restarting else None
    if restarting is None or since is None or restarting.reason in _AT_ONCE:
        return None
    due = since + timedelta(seconds=restart_delay(view.job.status.quick_restarts))
    left = (due - view.now).total_seconds()
    if left <= 0:
        return None
    cause = f"backing off before attempt {view.attempt}, restart {view.job.status.restart_count}"
    next_step = f"attempt {view.attempt} at {clock_time(due)}"
    return Hold(Reason.BACK_OFF, cause, next_step, seconds=left, stops=Stop.PODS)
