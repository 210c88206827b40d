"""Handles spec.suspend: the pods are deleted, the job stays, and it resumes with a new attempt."""

from dataclasses import replace

from api.constants import Condition, Phase, Reason
from api.objects import format_time
from reconcile.attempt.restart import fruitless_restarts, quick_restarts, with_attempt
from reconcile.failure.loss import forget_loss
from reconcile.model.move import Move, end_conditions, set_condition
from reconcile.model.plan import EmitEvent
from reconcile.model.view import View


def find_suspension(view: View) -> Move | None:
    """The transition into or out of suspension, or None."""
    is_suspended = view.job.status.is_true(Condition.SUSPENDED)
    if view.job.spec.suspend and not is_suspended:
        return _suspend(view)
    if is_suspended and not view.job.spec.suspend:
        return _resume(view)
    return None


def _suspend(view: View) -> Move:
    """Suspend the job. If it has pods, raise the attempt's number, which makes them obsolete.

    A ConfigMap counts like a pod, because later pods must not read the addresses in it.
    """
    ended = (Condition.RUNNING, Condition.RESTARTING, Condition.PENDING)
    status = end_conditions(forget_loss(view.job.status), view.now, *ended)
    message = "the job is suspended"
    status = set_condition(status, Condition.SUSPENDED, True, Reason.SUSPENDED, message, view.now)
    has_begun = bool(view.observed.pods or view.observed.config_maps)
    status = with_attempt(view, status, view.attempt + has_begun)
    status = replace(
        status,
        phase=Phase.SUSPENDED,
        mode=str(view.job.spec.mode),
        quick_restarts=quick_restarts(view),
        fruitless_restarts=fruitless_restarts(view),
        start_time="",
        roles={},
    )
    return Move(status, (EmitEvent("Normal", Reason.SUSPENDED, message),))


def _resume(view: View) -> Move:
    message = "the job goes on"
    status = set_condition(
        view.job.status, Condition.SUSPENDED, False, Reason.RESUMED, message, view.now
    )
    status = set_condition(status, Condition.RUNNING, False, Reason.RESUMED, "", view.now)
    status = replace(status, phase=Phase.PENDING, start_time=format_time(view.now), lost_seconds=0)
    return Move(status, (EmitEvent("Normal", Reason.RESUMED, message),))
