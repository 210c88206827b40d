"""A job's deadlines, computed from timestamps in status so that they survive operator restarts."""

from api.constants import Reason
from api.objects import parse_time
from reconcile.model.hold import Hold, earliest
from reconcile.model.move import Move, fail_job
from reconcile.model.view import View


def await_deadlines(view: View) -> Move | Hold | None:
    """Fail the job if its time is up, or wait until then; None if no deadline counts now."""
    spec = view.job.spec
    if spec.suspend:
        return None
    active = _seconds_left(view, view.job.status.start_time, spec.active_deadline_seconds)
    if active is not None and active <= 0:
        message = f"the job was active for longer than {spec.active_deadline_seconds} s"
        return fail_job(view, Reason.DEADLINE_EXCEEDED, message)
    status, limit = view.job.status, spec.starting_deadline_seconds
    starting = None if status.has_run else _seconds_left(view, status.start_time, limit)
    if starting is not None and starting <= 0:
        message, cause = f"not all pods ran within {limit} s", status.waiting.cause
        message = f"{message}: {cause}" if cause else message
        return fail_job(view, Reason.STARTING_DEADLINE_EXCEEDED, message)
    left = earliest(active, starting)
    return None if left is None else Hold(seconds=left)


def seconds_to_ttl(view: View) -> float | None:
    """Seconds until an ended job is deleted; None if it is kept."""
    ttl = view.job.spec.ttl_seconds_after_finished
    if ttl is None:
        ttl = view.settings.default_ttl_seconds
    return _seconds_left(view, view.job.status.completion_time, ttl)


def is_time_up(view: View) -> bool:
    """Whether the job has ended, and its ttlSecondsAfterFinished has passed."""
    left = seconds_to_ttl(view) if view.job.status.is_terminal else None
    return left is not None and left <= 0


def _seconds_left(view: View, since: str, limit: int | None) -> float | None:
    moment = parse_time(since)
    if limit is None or moment is None:
        return None
    return limit - (view.now - moment).total_seconds()
