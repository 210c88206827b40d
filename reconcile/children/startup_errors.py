"""Handles pods that cannot start, such as for a wrong image name or a missing object.

Unless the job is elastic, every pod waits in CreateContainerConfigError until its attempt's
ConfigMap exists. Only this wait is no error.

The grace period begins when the status first reports such an error, as for an invalid child in
`refused.py`. It begins no earlier, because a large image can be pulled for longer than this period
before the pull fails. It is short only for an error that cannot heal.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from api.constants import Reason
from api.objects import condition_since, parse_time
from reconcile.model.hold import Hold, and_more, clock_time, grace_since
from reconcile.model.move import Move, fail_with_record
from reconcile.model.pods import PodState, PodView
from reconcile.model.view import View
from reconcile.model.waits import NORMAL, PULL_BACKS_OFF, Wait
from reconcile.objects.rendezvous import is_about_config_map


class _Error(NamedTuple):
    """A pod that cannot start, and when that ends the job."""

    pod: PodView
    wait: Wait
    cause: str
    due: datetime


def await_startup(view: View) -> Move | Hold | None:
    """Fail a job with a pod whose grace period is over, or wait for the pods that cannot start."""
    found = [list(_errors(view, pod)) for pod in view.pods.values() if pod.waits]
    errors = [min(each, key=lambda error: error.due) for each in found if each]
    due = [error for error in errors if error.due <= view.now]
    if due:
        error = _as_reported(view, due)
        pod, reason = error.pod, error.wait.reason
        return fail_with_record(view, reason, error.cause, pod.name, pod.node)
    return _wait(view, _as_reported(view, errors), len(errors)) if errors else None


def _as_reported(view: View, errors: Sequence[_Error]) -> _Error:
    """The error whose grace period ends first; if several end then, the one that status reports.

    While the kubelet backs off, it does not report why a pull failed, so we keep status's cause.
    """
    waiting = view.job.status.waiting
    soonest = min(error.due for error in errors)
    next_due = [error for error in errors if error.due == soonest]
    first = next((each for each in next_due if each.pod.name == waiting.child), next_due[0])
    told = first.wait._replace(state=waiting.state)
    knows_why = waiting.child == first.pod.name and told.reason is Reason.IMAGE_ERROR
    if first.wait.state == PULL_BACKS_OFF and knows_why:
        return first._replace(wait=told, cause=waiting.cause)
    return first


def _wait(view: View, error: _Error, number: int) -> Hold:
    return Hold(
        error.wait.reason,
        error.cause,
        _next_step(error),
        seconds=(error.due - view.now).total_seconds(),
        more=and_more(number - 1),
        child=error.pod.name,
        state=error.wait.state,
        grace=error.wait.flag,
    )


def _next_step(error: _Error) -> str:
    wait, until = error.wait, f"{clock_time(error.due)} ({error.wait.flag})"
    if not wait.heals and wait.reason is Reason.IMAGE_ERROR:
        return f"correct it and submit again; this job fails at {until}"
    before = f"before {clock_time(error.due)}, or the job fails ({wait.flag})"
    if not wait.heals:
        return f"correct it {before}"
    if "Pull" in wait.state:
        return f"push the image or fix its pull secret {before}"
    if wait.text.endswith("not found"):
        return f"create it {before}"
    return f"its node tries again; if that does not help, the job fails at {until}"


def _errors(view: View, pod: PodView) -> Iterator[_Error]:
    """The errors of the containers of a pod whose trainer has not started."""
    if pod.is_deleting or pod.state not in (PodState.PENDING, PodState.STARTING):
        return
    for wait in pod.waits:
        if wait.state not in NORMAL and not is_about_config_map(view, wait.text):
            yield _Error(pod, wait, wait.describe(pod.name), _due(view, pod, wait))


def _due(view: View, pod: PodView, wait: Wait) -> datetime:
    """When the error ends the job: a grace period after it began or, if later, its first report."""
    settings, since = view.settings, _began_at(view, pod)
    grace = settings.image_pull_grace_seconds if wait.heals else settings.config_error_grace_seconds
    if wait.reason is not Reason.IMAGE_ERROR:
        made = (view.config_map or {}).get("metadata", {}).get("creationTimestamp")
        since = max(since, parse_time(made) or view.job.created_at)
    reported = grace_since(view.job.status, wait.reason, wait.flag)
    return max(since, reported or view.now.replace(microsecond=0)) + timedelta(seconds=grace)


def _began_at(view: View, pod: PodView) -> datetime:
    """When the kubelet began to start the containers, or began again after the last one ended."""
    scheduled = condition_since(pod.raw, "PodScheduled") or view.job.created_at
    ended = pod.end.finished_at if pod.end else None
    return max(scheduled, ended) if ended else scheduled
