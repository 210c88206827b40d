"""Counts how often the kubelet restarts containers in place (OnFailure), as batch/v1 does."""

from api.constants import Reason
from reconcile.model.move import Move, fail_job
from reconcile.model.view import View

IN_PLACE_LIMIT = 6
"""The limit of in-place restarts if backoffLimit is unset: batch/v1's default."""


def find_exhausted_in_place(view: View) -> Move | None:
    """Fail a job whose containers the kubelet has restarted too often."""
    pods = [pod for pod in view.pods.values() if pod.restarts and pod.restarts_in_place]
    count = sum(pod.restarts for pod in pods)
    limit = view.job.spec.backoff_limit
    if limit is None:
        limit = IN_PLACE_LIMIT
    # As in batch/v1: too many when the count reaches the limit; with a limit of 0, at the first.
    if not pods or (count < limit if limit else count == 0):
        return None
    worst = max(pods, key=lambda pod: pod.restarts)
    message = f"container restarts: {count} (limit {limit}), {worst.restarts} in {worst.name}"
    return fail_job(view, Reason.BACKOFF_LIMIT_EXCEEDED, message)
