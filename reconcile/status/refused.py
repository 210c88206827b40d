"""Children that the API server does not let the operator create or delete.

Most refusals may heal: a quota is raised, a webhook is mended, a right is given. The job waits.
But what the API server's own validation says of a child as it was sent stays true. It follows from
the spec, and ends the job after a grace. The condition Pending turns true anew when this is first
told, so the grace counts from there, however often the operator starts anew.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from api.constants import Condition, Reason
from api.objects import format_time, parse_time
from api.status import Failure
from reconcile.model.plan import FORMER_JOB, YOUNG_KIND, Refusal
from reconcile.model.transition import Transition, fail_job
from reconcile.model.view import View
from reconcile.model.wait import CONFIG_FLAG, MAX_CAUSE_CHARACTERS, Wait, clock_time, written_cause
from reconcile.status.refusals import lacking_children, standing_refusals

BY_ITSELF = "the operator tries again by itself"


def explain_refusals(view: View) -> Wait | None:
    """Why children cannot be created or deleted, what is invalid first; None if all can be."""
    invalid = _find_invalid(view)
    if invalid is not None:
        return _explain_invalid(view, _cause(invalid))
    return _tell(standing_refusals(view)) or _still_invalid(view)


def explain_leftovers(view: View) -> Wait | None:
    """Why children of a job that has ended or is suspended stay: nobody may delete them."""
    return _tell(standing_refusals(view))


def find_invalid_child(view: View) -> Transition | None:
    """The end of a job whose child was invalid for longer than the grace, or None."""
    left = seconds_to_invalid_child(view)
    if left is None or left > 0 or (invalid := _find_invalid(view)) is None:
        return None
    message = _cause(invalid)
    status = view.job.status.with_failure(_record(view, invalid, message))
    failed = replace(view, job=replace(view.job, status=status))
    return fail_job(failed, Reason.INVALID_SPEC, message)


def seconds_to_invalid_child(view: View) -> float | None:
    """Seconds until a job that has said that a child is invalid is to end, or None."""
    since = _told_since(view)
    if since is None or _find_invalid(view) is None:
        return None
    return view.settings.config_error_grace_seconds - (view.now - since).total_seconds()


def _find_invalid(view: View) -> Refusal | None:
    return next((each for each in standing_refusals(view) if each.is_final), None)


def _told_since(view: View) -> datetime | None:
    """Since when the stored status says that a child is invalid."""
    pending = view.job.status.condition(Condition.PENDING)
    if pending is None or not pending.status or pending.reason != Reason.INVALID_SPEC:
        return None
    return parse_time(pending.last_transition_time)


def _explain_invalid(view: View, cause: str) -> Wait:
    grace = timedelta(seconds=view.settings.config_error_grace_seconds)
    due = clock_time((_told_since(view) or view.now) + grace)
    next_step = f"correct it and submit again, this job fails at {due} ({CONFIG_FLAG})"
    return Wait(Reason.INVALID_SPEC, cause, next_step)


def _still_invalid(view: View) -> Wait | None:
    """What status says of a child that this process has not tried to create yet."""
    cause = written_cause(view.job.status, Reason.INVALID_SPEC)
    if not cause:
        return None
    child, _, _ = cause.partition(": ")
    kind, _, name = child.partition(" ")
    is_lacking = name in lacking_children(view).get(kind, ())
    return _explain_invalid(view, cause) if is_lacking else None


def _record(view: View, refusal: Refusal, message: str) -> Failure:
    role, index = view.wanted.get(refusal.name, ("", 0)) if refusal.kind == "Pod" else ("", 0)
    return Failure(
        attempt=view.attempt,
        pod=refusal.name if role else "",
        role=str(role),
        index=index,
        reason=str(Reason.INVALID_SPEC),
        message=message,
        time=format_time(view.now),
    )


def _tell(refusals: Sequence[Refusal]) -> Wait | None:
    if not refusals:
        return None
    wait, more = _explain(refusals[0]), len(refusals) - 1
    return replace(wait, cause=wait.cause + (f" (and {more} more)" if more else ""))


def _explain(refusal: Refusal) -> Wait:
    child, cause = f"{refusal.kind} {refusal.name}", _cause(refusal)
    if refusal.reason == FORMER_JOB:
        cause = f"{child} of a former job of this name is still there"
        return Wait(Reason.PODS_TERMINATING, cause, "the job goes on once it is gone")
    if refusal.reason == YOUNG_KIND:
        cause = f"the API server does not let a PaddleJob own {child} yet"
        next_step = "nothing, it looks for new kinds every 30 s"
        return Wait(Reason.WAITING_FOR_PODS, cause, next_step)
    if refusal.reason == "AlreadyExists":
        cause = f"{child} exists and does not belong to this job; it is left untouched"
        return Wait(Reason.NAME_CONFLICT, cause, "delete it, or give the job another name")
    if "exceeded quota" in refusal.message:
        cause = f"quota exceeded: {refusal.message}"[:MAX_CAUSE_CHARACTERS]
        next_step = f"end other jobs, ask for less or have it raised, {BY_ITSELF}"
        return Wait(Reason.QUOTA_EXCEEDED, cause, next_step)
    if refusal.is_delete:
        return Wait(Reason.DELETE_REFUSED, cause, f"have that allowed, {BY_ITSELF}")
    return Wait(Reason.CREATE_REFUSED, cause, f"change that or have it allowed, {BY_ITSELF}")


def _cause(refusal: Refusal) -> str:
    what = "cannot be deleted: " if refusal.is_delete else ""
    return f"{refusal.kind} {refusal.name}: {what}{refusal.message}"[:MAX_CAUSE_CHARACTERS]
