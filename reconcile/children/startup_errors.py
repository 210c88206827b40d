"""Handles pods that cannot start, such as for a wrong image name or a missing object.

Unless the job is elastic, every pod waits in CreateContainerConfigError until its attempt's
ConfigMap exists. Only this wait is no error.

The grace period begins when the status first reports such an error, as for an invalid child in
`refused.py`. It begins no earlier, because a large image can be pulled for longer than this period
before the pull fails. It is short only for an error that cannot heal.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from api.constants import Reason
from api.objects import condition_of, moment_of, parse_time
from reconcile.build.rendezvous import is_about_config_map
from reconcile.model.hold import (
    CONFIG_FLAG,
    IMAGE_FLAG,
    Hold,
    and_more,
    clock_time,
    grace_since,
)
from reconcile.model.move import Move, fail_with_record
from reconcile.model.pods import PodState, PodView
from reconcile.model.view import View
from reconcile.model.waits import NORMAL, PULL_BACKS_OFF, Wait, describe_wait, waits_of


@dataclass(frozen=True, slots=True)
class _Error:
    """A pod that cannot start, and when that ends the job."""

    pod: PodView
    wait: Wait
    cause: str
    due: datetime

    @property
    def reason(self) -> Reason:
        """The kind of error that the job reports."""
        return Reason.IMAGE_ERROR if self.wait.is_image else Reason.CONFIG_ERROR

    @property
    def flag(self) -> str:
        """The flag that sets the grace."""
        return IMAGE_FLAG if self.wait.heals else CONFIG_FLAG


def await_startup(view: View) -> Move | Hold | None:
    """Fail a job with a pod whose grace period is over, or wait for the pods that cannot start."""
    found = (list(_errors(view, pod)) for pod in view.pods.values())
    errors = [min(each, key=lambda error: error.due) for each in found if each]
    due = [error for error in errors if error.due <= view.now]
    if due:
        error = _as_reported(view, due)
        return fail_with_record(view, error.reason, error.cause, error.pod.name, error.pod.node)
    return _wait(view, _as_reported(view, errors), len(errors)) if errors else None


def _as_reported(view: View, errors: Sequence[_Error]) -> _Error:
    """The error whose grace period ends first; if several end then, the one that status reports.

    While the kubelet backs off, it does not report why a pull failed, so we keep status's cause.
    """
    waiting = view.job.status.waiting
    soonest = min(error.due for error in errors)
    next_due = [error for error in errors if error.due == soonest]
    first = next((each for each in next_due if each.pod.name == waiting.child), next_due[0])
    knows_why = waiting.child == first.pod.name and Wait("", waiting.state, "").is_image
    if first.wait.state == PULL_BACKS_OFF and knows_why:
        return replace(first, wait=first.wait._replace(state=waiting.state), cause=waiting.cause)
    return first


def _wait(view: View, error: _Error, number: int) -> Hold:
    return Hold(
        error.reason,
        error.cause,
        _next_step(error),
        seconds=(error.due - view.now).total_seconds(),
        more=and_more(number - 1),
        child=error.pod.name,
        state=error.wait.state,
        grace=error.flag,
    )


def _next_step(error: _Error) -> str:
    until = clock_time(error.due)
    wait, or_fails = error.wait, f"before {until}, or the job fails ({error.flag})"
    if not wait.heals:
        what = f"submit again; this job fails at {until} ({error.flag})"
        return f"correct it and {what}" if wait.is_image else f"correct it {or_fails}"
    if "Pull" in wait.state:
        return f"push the image or fix its pull secret {or_fails}"
    if wait.text.endswith("not found"):
        return f"create it {or_fails}"
    return f"its node tries again; if that does not help, the job fails at {until} ({error.flag})"


def _errors(view: View, pod: PodView) -> Iterator[_Error]:
    """The errors of the containers of a pod whose trainer has not started."""
    if pod.is_deleting or pod.state not in (PodState.PENDING, PodState.STARTING):
        return
    for wait in waits_of(pod.raw):
        if wait.state not in NORMAL and not is_about_config_map(view, wait.text):
            error = _Error(pod, wait, describe_wait(view, pod, wait), view.now)
            yield replace(error, due=_due(view, error))


def _due(view: View, error: _Error) -> datetime:
    """When the error ends the job: a grace period after it began or, if later, its first report."""
    settings, heals = view.settings, error.wait.heals
    grace = settings.image_pull_grace_seconds if heals else settings.config_error_grace_seconds
    since = _began_at(view, error.pod)
    if not error.wait.is_image:
        made = (view.config_map or {}).get("metadata", {}).get("creationTimestamp")
        since = max(since, parse_time(made) or view.job.created_at)
    reported = grace_since(view.job.status, error.reason, error.flag)
    return max(since, reported or view.now.replace(microsecond=0)) + timedelta(seconds=grace)


def _began_at(view: View, pod: PodView) -> datetime:
    """When the kubelet began to start the containers, or began again after the last one ended."""
    condition = condition_of(pod.raw, "PodScheduled") or {}
    scheduled = moment_of(condition.get("lastTransitionTime")) or view.job.created_at
    ended = pod.end.finished_at if pod.end else None
    return max(scheduled, ended) if ended else scheduled
