"""Handles children that the API server does not let the operator create or delete.

Somebody can fix the cause of most refusals: raise a quota, repair a webhook, grant a right. The job
waits, and its creates pause. But a child that fails the API server's own validation stays invalid,
because it follows from the spec, so the job fails after a grace period. Status stores when that
period began, so a restart of the operator does not extend it.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from api.constants import LABEL_JOB_NAME, LABEL_JOB_UID, Reason
from reconcile.children.refusals import (
    is_over_quota,
    lacking_children,
    pause_seconds,
    standing_refusals,
)
from reconcile.model.hold import (
    CONFIG_FLAG,
    MAX_CAUSE_CHARACTERS,
    Hold,
    Stop,
    and_more,
    clock_time,
    earliest,
    grace_since,
)
from reconcile.model.move import Move, fail_with_record
from reconcile.model.plan import FORMER_JOB, OWNERLESS, YOUNG_KIND, Refusal
from reconcile.model.view import View

RETRIES = "the operator retries by itself"


def await_permission(view: View) -> Move | Hold | None:
    """Fail a job whose child can never be valid, or wait for what was refused."""
    standing = standing_refusals(view)
    invalid = next((each for each in standing if each.is_final), None)
    if invalid is not None:
        return _await_correction(view, invalid)
    if standing:
        return _pausing(view, explain_refusals(view, standing))
    return _still_invalid(view)


def explain_refusals(view: View, refusals: Sequence[Refusal]) -> Hold:
    """A hold that explains the first of these refusals and counts the others."""
    return replace(_explain(view, refusals[0]), more=and_more(len(refusals) - 1))


def _pausing(view: View, hold: Hold) -> Hold:
    """The hold with creates paused. The next pass comes at its own time or when the pause ends."""
    left = pause_seconds(view)
    stops = Stop.CREATES if left else Stop.NOTHING
    return replace(hold, stops=stops, seconds=earliest(hold.seconds, left))


def _await_correction(view: View, invalid: Refusal) -> Move | Hold:
    """Fail the job when its grace period is over; until then, try again."""
    since = grace_since(view.job.status, Reason.INVALID_SPEC, CONFIG_FLAG)
    due = (since or view.now) + timedelta(seconds=view.settings.config_error_grace_seconds)
    if since is not None and view.now >= due:
        pod = invalid.name if invalid.kind == "Pod" else ""
        return fail_with_record(view, Reason.INVALID_SPEC, _cause(invalid), pod)
    hold = Hold(
        Reason.INVALID_SPEC,
        _cause(invalid),
        f"correct it and submit again; this job fails at {clock_time(due)} ({CONFIG_FLAG})",
        seconds=(due - view.now).total_seconds() if since else None,
        child=f"{invalid.kind}/{invalid.name}",
        grace=CONFIG_FLAG,
        warns=True,
    )
    return _pausing(view, hold)


def _still_invalid(view: View) -> Hold | None:
    """Keep the stored condition until this process has tried to create the invalid child itself."""
    if grace_since(view.job.status, Reason.INVALID_SPEC, CONFIG_FLAG) is None:
        return None
    lacking, (kind, _, name) = lacking_children(view), view.job.status.waiting.child.partition("/")
    still_lacks = name in lacking.get(kind, ()) if kind else any(lacking.values())
    return Hold(Reason.INVALID_SPEC, keeps=True) if still_lacks else None


def _explain(view: View, refusal: Refusal) -> Hold:
    child, cause = f"{refusal.kind} {refusal.name}", _cause(refusal)
    if refusal.reason == FORMER_JOB:
        cause = f"{child} of a former job of this name is still there"
        return Hold(Reason.PODS_TERMINATING, cause, "the job goes on once it is gone")
    if refusal.reason == YOUNG_KIND:
        cause = f"the API server does not let a PaddleJob own {child} yet"
        next_step = "nothing, the API server looks for new kinds every 30 s"
        return Hold(Reason.WAITING_FOR_PODS, cause, next_step)
    if refusal.reason == OWNERLESS:
        cause = f"{child} of a former job of this name has no owner, as after a restore"
        selector = f"{LABEL_JOB_NAME}={view.job.name},{LABEL_JOB_UID}={refusal.message}"
        next_step = f"kubectl delete pods,svc,cm -l {selector}"
        return Hold(Reason.NAME_CONFLICT, cause, next_step, warns=True)
    if refusal.reason == "AlreadyExists":
        cause = f"{child} exists and does not belong to this job; it is left untouched"
        next_step = "delete it, or give the job another name"
        return Hold(Reason.NAME_CONFLICT, cause, next_step, warns=True)
    if is_over_quota(refusal):
        cause = f"quota exceeded: {refusal.message}"[:MAX_CAUSE_CHARACTERS]
        next_step = f"end other jobs, ask for less or have the quota raised; {RETRIES}"
        return Hold(Reason.QUOTA_EXCEEDED, cause, next_step, warns=True)
    if refusal.is_delete:
        next_step = f"ask for permission; {RETRIES}"
        return Hold(Reason.DELETE_REFUSED, cause, next_step, warns=True)
    next_step = f"change the template or ask for permission; {RETRIES}"
    return Hold(Reason.CREATE_REFUSED, cause, next_step, warns=True)


def _cause(refusal: Refusal) -> str:
    what = "cannot be deleted: " if refusal.is_delete else ""
    return f"{refusal.kind} {refusal.name}: {what}{refusal.message}"[:MAX_CAUSE_CHARACTERS]
