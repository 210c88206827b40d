"""Pods that cannot start: a wrong image name, or a configuration that names a missing object.

Every pod waits in CreateContainerConfigError until its attempt's ConfigMap exists. That is how a
job starts, and it is never an error here.

The grace counts from when the condition Pending first tells of such an error, as for an invalid
child in `refused.py`: a large image may take longer than the grace before its pull fails.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from api.constants import Condition, Reason
from api.job import config_map_name
from api.objects import condition_of, format_time, parse_time
from api.status import Failure
from reconcile.build.rendezvous import rendezvous_key
from reconcile.model.pods import PodView, waiting_states
from reconcile.model.transition import Transition, fail_job
from reconcile.model.view import View
from reconcile.model.wait import (
    CONFIG_FLAG,
    IMAGE_FLAG,
    MAX_CAUSE_CHARACTERS,
    Wait,
    clock_time,
    is_told,
    written_cause,
)

IMAGE_NAME_ERRORS = ("InvalidImageName", "ErrImageNeverPull")
IMAGE_PULL_ERRORS = ("ErrImagePull", "ImagePullBackOff", "RegistryUnavailable")
IMAGE_ERRORS = (*IMAGE_NAME_ERRORS, *IMAGE_PULL_ERRORS)
CONFIG_ERRORS = ("CreateContainerConfigError", "CreateContainerError")
MORE = re.compile(r" \(and \d+ more\)$")


@dataclass(frozen=True, slots=True)
class StartupError:
    """A pod that cannot start, and when that ends the job.

    `heals`: a pull may yet succeed, and a missing object may be created. A wrong name or key stays
    wrong.
    """

    pod: PodView
    reason: Reason
    message: str
    heals: bool
    due: datetime


def find_startup_failure(view: View) -> Transition | None:
    """The end of a job with a pod past its grace, or None."""
    errors = startup_errors(view)
    due = [error for error in errors if error.due <= view.now]
    if not due:
        return None
    error, cause = _told(view, due)
    failure = Failure(
        attempt=view.attempt,
        pod=error.pod.name,
        role=str(error.pod.role or ""),
        index=error.pod.index,
        node=error.pod.node,
        reason=str(error.reason),
        message=cause,
        time=format_time(view.now),
    )
    status = view.job.status.with_failure(failure)
    return fail_job(replace(view, job=replace(view.job, status=status)), error.reason, cause)


def seconds_to_startup_failure(view: View) -> float | None:
    """Seconds until the first of the waiting pods is past its grace, or None."""
    due = min((error.due for error in startup_errors(view)), default=None)
    return (due - view.now).total_seconds() if due else None


def explain_startup(view: View) -> Wait | None:
    """What the pods that cannot start wait for, and until when they may; None if all can."""
    errors = startup_errors(view)
    if not errors:
        return None
    error, cause = _told(view, errors)
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return Wait(error.reason, cause + more, _next_step(error))


def _told(view: View, errors: Sequence[StartupError]) -> tuple[StartupError, str]:
    """The error that ends the job first, and what it says; of several the one told before.

    The kubelet no longer says why a pull failed once it backs off; status still does.
    """
    written = MORE.sub("", written_cause(view.job.status, Reason.IMAGE_ERROR, Reason.CONFIG_ERROR))
    soonest = min(error.due for error in errors)
    next_due = [error for error in errors if error.due == soonest]
    first = next((e for e in next_due if written.startswith(f"{e.pod.name}: ")), next_due[0])
    is_backing_off = first.message.startswith(f"{first.pod.name}: ImagePullBackOff: ")
    says_why = written.startswith(f"{first.pod.name}: ErrImagePull: ")
    return first, written if is_backing_off and says_why else first.message[:MAX_CAUSE_CHARACTERS]


def _next_step(error: StartupError) -> str:
    until = clock_time(error.due)
    is_image = error.reason is Reason.IMAGE_ERROR
    if is_image and not error.heals:
        return f"correct it and submit again, this job fails at {until} ({CONFIG_FLAG})"
    what = (
        "push it or mend its pull secret"
        if is_image
        else "create it"
        if error.heals
        else "correct it"
    )
    return f"{what} and the job goes on, until {until} ({_flag(error.heals)})"


def startup_errors(view: View) -> list[StartupError]:
    """The attempt's pods that wait in an error."""
    found = (_startup_error(view, pod) for pod in view.pods.values())
    return [error for error in found if error is not None]


def _startup_error(view: View, pod: PodView) -> StartupError | None:
    if pod.is_deleting:
        return None
    for container, reason, text in waiting_states(pod.raw):
        message = f"{pod.name}: {reason}: {text or container}"
        since = _began_at(view, pod)
        if reason in IMAGE_ERRORS:
            heals = reason in IMAGE_PULL_ERRORS
            due = _due(view, Reason.IMAGE_ERROR, heals, since)
            return StartupError(pod, Reason.IMAGE_ERROR, message, heals, due)
        if reason in CONFIG_ERRORS and not _is_normal_wait(view, text):
            heals = "not found" in text
            since = max(since, _config_map_made_at(view) or view.job.created_at)
            due = _due(view, Reason.CONFIG_ERROR, heals, since)
            return StartupError(pod, Reason.CONFIG_ERROR, message, heals, due)
    return None


def _due(view: View, reason: Reason, heals: bool, since: datetime) -> datetime:
    """When such an error ends the job, which has not been there since before."""
    settings = view.settings
    grace = settings.image_pull_grace_seconds if heals else settings.config_error_grace_seconds
    return max(since, _told_since(view, reason, _flag(heals))) + timedelta(seconds=grace)


def _told_since(view: View, reason: Reason, flag: str) -> datetime:
    """Since when the stored status tells of such an error; now, where it is about to."""
    pending = view.job.status.condition(Condition.PENDING)
    told = pending if is_told(view.job.status, reason, flag) else None
    moment = parse_time(told.last_transition_time) if told else None
    return moment or view.now.replace(microsecond=0)


def _flag(heals: bool) -> str:
    """The flag that sets the grace."""
    return IMAGE_FLAG if heals else CONFIG_FLAG


def _began_at(view: View, pod: PodView) -> datetime:
    """When the kubelet began with the containers, or began anew after the last one ended."""
    condition = condition_of(pod.raw, "PodScheduled") or {}
    scheduled = parse_time(condition.get("lastTransitionTime")) or view.job.created_at
    ended = pod.end.finished_at if pod.end else None
    return max(scheduled, ended) if ended else scheduled


def _is_normal_wait(view: View, text: str) -> bool:
    """Whether the pod waits for its ConfigMap, or its kubelet has not seen yet that it exists."""
    if view.config_map is None and not view.job.spec.is_elastic:
        return True
    name = config_map_name(view.job.name, view.attempt)
    return f'"{name}" not found' in text or rendezvous_key(view.job) in text


def _config_map_made_at(view: View) -> datetime | None:
    if view.config_map is None:
        return None
    return parse_time(view.config_map["metadata"].get("creationTimestamp"))
