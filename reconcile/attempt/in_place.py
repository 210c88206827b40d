"""Counts how often the kubelet restarts containers in place (OnFailure), as batch/v1 does."""

from dataclasses import replace

from api.constants import Reason
from api.trainer import container_statuses, trainer_name
from reconcile.failure.ending import describe_end
from reconcile.failure.incident import Incident, build_failure
from reconcile.model.end import container_end
from reconcile.model.move import Move, fail_job
from reconcile.model.pods import PodView
from reconcile.model.view import View

IN_PLACE_LIMIT = 6
"""The limit of in-place restarts if backoffLimit is unset: batch/v1's default."""


def find_exhausted_in_place(view: View) -> Move | None:
    """Fail a job whose containers the kubelet has restarted too often, and say how they ended."""
    pods = [pod for pod in view.pods.values() if pod.restarts and pod.restarts_in_place]
    count = sum(pod.restarts for pod in pods)
    limit = view.job.spec.backoff_limit
    if limit is None:
        limit = IN_PLACE_LIMIT
    # As in batch/v1: too many when the count reaches the limit; with a limit of 0, at the first.
    if not pods or (count < limit if limit else count == 0):
        return None
    worst = _with_worst_end(view, max(pods, key=lambda pod: pod.restarts))
    message = f"container restarts: {count} (limit {limit}), {worst.restarts} in {worst.name}"
    if worst.end is None:
        return fail_job(view, Reason.BACKOFF_LIMIT_EXCEEDED, message)
    message = f"{message}; {describe_end(view, worst)}"
    record = build_failure(view, Incident(Reason.POD_FAILED, message, True, pod=worst))
    status = view.job.status.with_failure(record)
    return fail_job(view, Reason.BACKOFF_LIMIT_EXCEEDED, message, status)


def _with_worst_end(view: View, pod: PodView) -> PodView:
    """The pod, with the last failure, or else end, of the container that was restarted most.

    If several were restarted as often, the trainer counts.
    """
    if pod.role is None:
        return pod
    trainer = trainer_name(view.job.spec.roles[pod.role].pod_spec)
    worst = max(
        container_statuses(pod.raw),
        key=lambda each: (int(each.get("restartCount") or 0), each.get("name") == trainer),
    )
    states = (worst.get("state"), worst.get("lastState"))
    ends = [each["terminated"] for each in states if each and each.get("terminated")]
    if not ends:
        return pod
    ended = next((each for each in ends if each.get("exitCode")), ends[0])
    name = str(worst.get("name"))
    return replace(pod, end=container_end(name, name == trainer, ended))
