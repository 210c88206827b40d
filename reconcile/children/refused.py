"""Handles children that the API server does not let the operator create, change or delete.

Somebody can fix the cause of most refusals: raise a quota, repair a webhook, grant a right. The job
waits, and its creates pause. But a child that fails the API server's own validation stays invalid,
because it follows from the spec, so the job fails after a grace period. Status stores when that
period began, so a restart of the operator does not extend it.
"""

from dataclasses import replace
from datetime import timedelta

from api.constants import Reason
from reconcile.children.refusals import explain_refusals, lacking_children, refusal_cause
from reconcile.model.hold import CONFIG_FLAG, Hold, Stop, clock_time, earliest, grace_since
from reconcile.model.move import Move, fail_with_record
from reconcile.model.plan import Refusal
from reconcile.model.view import View


def await_permission(view: View) -> Move | Hold | None:
    """Fail a job whose child can never be valid, or wait for what was refused."""
    standing = view.observed.refusals
    invalid = next((each for each in standing if each.is_final), None)
    if invalid is not None:
        return _await_correction(view, invalid)
    if standing:
        pausing = _pausing(view, explain_refusals(view, standing))
        # Patches come last, so no other write was refused. They are paced, but nothing waits.
        return replace(pausing, stops=Stop.NOTHING) if standing[0].is_patch else pausing
    return _still_invalid(view)


def _pausing(view: View, hold: Hold) -> Hold:
    """The hold with creates paused. The next pass comes at its own time or when the pause ends."""
    left = view.pause_seconds
    stops = Stop.CREATES if left else Stop.NOTHING
    return replace(hold, stops=stops, seconds=earliest(hold.seconds, left))


def _await_correction(view: View, invalid: Refusal) -> Move | Hold:
    """Fail the job when its grace period is over; until then, try again."""
    since = grace_since(view.job.status, Reason.INVALID_SPEC, CONFIG_FLAG)
    due = (since or view.now) + timedelta(seconds=view.settings.config_error_grace_seconds)
    if since is not None and view.now >= due:
        pod = invalid.name if invalid.kind == "Pod" else ""
        return fail_with_record(view, Reason.INVALID_SPEC, refusal_cause(invalid), pod)
    hold = Hold(
        Reason.INVALID_SPEC,
        refusal_cause(invalid),
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
