"""Handles pods that cannot start: a wrong image name, or a reference to a missing object.

Unless the job is elastic, every pod waits in CreateContainerConfigError until its attempt's
ConfigMap exists. Here, this wait is no error.

The grace period begins when the status first reports such an error, as for an invalid child in
`refused.py`. It begins no earlier, because a large image can be pulled for longer than this period
before the pull fails.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from api.constants import Reason
from api.objects import condition_of, parse_time
from api.trainer import waiting_states
from reconcile.model.hold import (
    CONFIG_FLAG,
    IMAGE_FLAG,
    MAX_CAUSE_CHARACTERS,
    Hold,
    and_more,
    clock_time,
    grace_since,
)
from reconcile.model.move import Move, fail_with_record
from reconcile.model.pods import PodView
from reconcile.model.view import View

IMAGE_NAME_ERRORS = ("InvalidImageName", "ErrImageNeverPull")
PULL_FAILED, PULL_BACKS_OFF = "ErrImagePull", "ImagePullBackOff"
IMAGE_PULL_ERRORS = (PULL_FAILED, PULL_BACKS_OFF, "RegistryUnavailable")
IMAGE_ERRORS = (*IMAGE_NAME_ERRORS, *IMAGE_PULL_ERRORS)
CONFIG_ERRORS = ("CreateContainerConfigError", "CreateContainerError")


@dataclass(frozen=True, slots=True)
class _Error:
    """A pod that cannot start, and when that ends the job.

    `heals`: the error can go away, because a pull can succeed and a missing object can be created.
    A wrong name or key stays wrong.
    """

    pod: PodView
    reason: Reason
    state: str
    cause: str
    heals: bool
    due: datetime

    @property
    def flag(self) -> str:
        """The flag that sets the grace."""
        return IMAGE_FLAG if self.heals else CONFIG_FLAG


def await_startup(view: View) -> Move | Hold | None:
    """Fail a job with a pod whose grace period is over, or wait for the pods that cannot start."""
    found = (_find_error(view, pod) for pod in view.pods.values())
    errors = [error for error in found if error is not None]
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
    knows_why = waiting.child == first.pod.name and waiting.state == PULL_FAILED
    if first.state == PULL_BACKS_OFF and knows_why:
        return replace(first, state=PULL_FAILED, cause=waiting.cause)
    return first


def _wait(view: View, error: _Error, number: int) -> Hold:
    return Hold(
        error.reason,
        error.cause,
        _next_step(error),
        seconds=(error.due - view.now).total_seconds(),
        more=and_more(number - 1),
        child=error.pod.name,
        state=error.state,
        grace=error.flag,
    )


def _next_step(error: _Error) -> str:
    until = clock_time(error.due)
    is_image = error.reason is Reason.IMAGE_ERROR
    if is_image and not error.heals:
        return f"correct it and submit again; this job fails at {until} ({error.flag})"
    what = "correct it" if not error.heals else "create it"
    what = "push the image or fix its pull secret" if is_image else what
    return f"{what} before {until}, or the job fails ({error.flag})"


def _find_error(view: View, pod: PodView) -> _Error | None:
    if pod.is_deleting:
        return None
    for container, state, text in waiting_states(pod.raw):
        cause = f"{pod.name}: {state}: {text or container}"[:MAX_CAUSE_CHARACTERS]
        since = _began_at(view, pod)
        if state in IMAGE_ERRORS:
            heals = state in IMAGE_PULL_ERRORS
            due = _due(view, Reason.IMAGE_ERROR, heals, since)
            return _Error(pod, Reason.IMAGE_ERROR, state, cause, heals, due)
        if state in CONFIG_ERRORS and not _is_normal_wait(view, text):
            heals = "not found" in text
            made = (view.config_map or {}).get("metadata", {}).get("creationTimestamp")
            since = max(since, parse_time(made) or view.job.created_at)
            due = _due(view, Reason.CONFIG_ERROR, heals, since)
            return _Error(pod, Reason.CONFIG_ERROR, state, cause, heals, due)
    return None


def _due(view: View, reason: Reason, heals: bool, since: datetime) -> datetime:
    """When the error ends the job: a grace period after `since` or, if later, its first report."""
    settings = view.settings
    grace = settings.image_pull_grace_seconds if heals else settings.config_error_grace_seconds
    reported = grace_since(view.job.status, reason, IMAGE_FLAG if heals else CONFIG_FLAG)
    return max(since, reported or view.now.replace(microsecond=0)) + timedelta(seconds=grace)


def _began_at(view: View, pod: PodView) -> datetime:
    """When the kubelet began to start the containers, or began again after the last one ended."""
    condition = condition_of(pod.raw, "PodScheduled") or {}
    scheduled = parse_time(condition.get("lastTransitionTime")) or view.job.created_at
    ended = pod.end.finished_at if pod.end else None
    return max(scheduled, ended) if ended else scheduled


def _is_normal_wait(view: View, text: str) -> bool:
    """Whether the pod waits for its ConfigMap, or for its kubelet to see that it exists."""
    if view.config_map is None and not view.job.spec.is_elastic:
        return True
    return f'"{view.config_map_name}" not found' in text
