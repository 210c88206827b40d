"""Pods that wait for what will not come: a wrong image name, a configuration with a hole.

Every pod waits in CreateContainerConfigError until its attempt's ConfigMap exists: that is the
way a job starts, and is never an error here.
"""

from dataclasses import dataclass
from datetime import datetime

from api.constants import Reason
from api.job import config_map_name
from api.objects import parse_time
from reconcile.pods import PodView, pod_condition, waiting_state
from reconcile.transition import Transition, fail_job
from reconcile.view import View

IMAGE_NAME_ERRORS = ("InvalidImageName", "ErrImageNeverPull")
IMAGE_PULL_ERRORS = ("ErrImagePull", "ImagePullBackOff", "RegistryUnavailable")
CONFIG_ERRORS = ("CreateContainerConfigError", "CreateContainerError")


@dataclass(frozen=True, slots=True)
class StartupError:
    """A pod that cannot start as it is, and since when and how long it may wait."""

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
    waiting = waiting_state(pod.raw)
    if waiting is None or pod.is_deleting:
        return None
    container, reason, text = waiting
    message = f"{pod.name}: {reason}: {text or container}"
    since = _scheduled_at(pod) or view.now
    settings = view.settings
    if reason in IMAGE_NAME_ERRORS:
        grace = settings.config_error_grace_seconds
        return StartupError(pod, Reason.IMAGE_ERROR, message, since, grace)
    if reason in IMAGE_PULL_ERRORS:
        grace = settings.image_pull_grace_seconds
        return StartupError(pod, Reason.IMAGE_ERROR, message, since, grace)
    if reason in CONFIG_ERRORS and not _is_normal_wait(view, text):
        since = max(since, _config_map_made_at(view) or since)
        # A missing object may still be made; a missing key of an existing one hardly.
        heals = "not found" in text
        grace = settings.image_pull_grace_seconds if heals else settings.config_error_grace_seconds
        return StartupError(pod, Reason.CONFIG_ERROR, message, since, grace)
    return None


def _is_normal_wait(view: View, text: str) -> bool:
    """Whether the kubelet has not tried again since the attempt's ConfigMap was made."""
    if view.config_map is None and not view.job.spec.is_elastic:
        return True
    return f'"{config_map_name(view.job.name, view.attempt)}" not found' in text


def _config_map_made_at(view: View) -> datetime | None:
    if view.config_map is None:
        return None
    return parse_time(view.config_map["metadata"].get("creationTimestamp"))


def _scheduled_at(pod: PodView) -> datetime | None:
    condition = pod_condition(pod.raw, "PodScheduled") or {}
    return parse_time(condition.get("lastTransitionTime"))


def _seconds_left(view: View, error: StartupError) -> float:
    return error.grace_seconds - (view.now - error.since).total_seconds()
