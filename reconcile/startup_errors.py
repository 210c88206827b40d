"""Pods that cannot start: a wrong image name, or a configuration that names a missing object.

Every pod waits in CreateContainerConfigError until its attempt's ConfigMap exists. That is how a
job starts, and it is never an error here.
"""

from dataclasses import dataclass
from datetime import datetime

from api.constants import Reason
from api.job import config_map_name
from api.objects import condition_of, parse_time
from reconcile.pods import PodView, waiting_states
from reconcile.rendezvous import rendezvous_key
from reconcile.transition import Transition, fail_job
from reconcile.view import View

IMAGE_NAME_ERRORS = ("InvalidImageName", "ErrImageNeverPull")
IMAGE_PULL_ERRORS = ("ErrImagePull", "ImagePullBackOff", "RegistryUnavailable")
IMAGE_ERRORS = (*IMAGE_NAME_ERRORS, *IMAGE_PULL_ERRORS)
CONFIG_ERRORS = ("CreateContainerConfigError", "CreateContainerError")


@dataclass(frozen=True, slots=True)
class StartupError:
    """A pod that cannot start: since when it waits, and how long it may."""

    pod: PodView
    reason: Reason
    message: str
    since: datetime
    grace_seconds: float


def find_startup_failure(view: View) -> Transition | None:
    """The end of a job with a pod past its grace, or None."""
    for error in startup_errors(view):
        if _seconds_left(view, error) <= 0:
            return fail_job(view, error.reason, error.message)
    return None


def seconds_to_startup_failure(view: View) -> float | None:
    """Seconds until the first of the waiting pods is past its grace, or None."""
    return min((_seconds_left(view, error) for error in startup_errors(view)), default=None)


def startup_errors(view: View) -> list[StartupError]:
    """The attempt's pods that wait in an error."""
    found = (_startup_error(view, pod) for pod in view.pods.values())
    return [error for error in found if error is not None]


def _startup_error(view: View, pod: PodView) -> StartupError | None:
    if pod.is_deleting:
        return None
    for container, reason, text in waiting_states(pod.raw):
        message = f"{pod.name}: {reason}: {text or container}"
        since, grace = _since(view, pod), _grace(view, reason, text)
        if reason in IMAGE_ERRORS:
            return StartupError(pod, Reason.IMAGE_ERROR, message, since, grace)
        if reason in CONFIG_ERRORS and not _is_normal_wait(view, text):
            since = max(since, _config_map_made_at(view) or view.job.created_at)
            return StartupError(pod, Reason.CONFIG_ERROR, message, since, grace)
    return None


def _grace(view: View, reason: str, text: str) -> float:
    """How long the error may last, in seconds.

    A pull may yet succeed, and a missing object may be created. A wrong name or key stays wrong.
    """
    heals = reason in IMAGE_PULL_ERRORS or (reason in CONFIG_ERRORS and "not found" in text)
    settings = view.settings
    return settings.image_pull_grace_seconds if heals else settings.config_error_grace_seconds


def _since(view: View, pod: PodView) -> datetime:
    """When the kubelet began with the containers, or began anew after the last one ended."""
    condition = condition_of(pod.raw, "PodScheduled") or {}
    scheduled = parse_time(condition.get("lastTransitionTime")) or view.now
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


def _seconds_left(view: View, error: StartupError) -> float:
    return error.grace_seconds - (view.now - error.since).total_seconds()
