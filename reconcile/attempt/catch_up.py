"""Brings a status that is older than the job's pods up to date with them.

The watch of each kind has its own delay, so a status can lag briefly. It stays behind if etcd was
restored from a snapshot of the time before the attempt began, because the pods are newer. Then we
write the attempt of the pods into the status, and the pods keep running. If the status is old only
in the cache, this write hits a version conflict and changes nothing.
"""

from api.objects import parse_time
from reconcile.attempt.restart import with_attempt
from reconcile.model.hold import Hold, Stop
from reconcile.model.move import Move
from reconcile.model.view import View

BEHIND_SECONDS = 10.0
"""The status follows pods of a later attempt at this age. Working watches lag much less."""
MAX_ATTEMPT = 2**31 - 1
"""The highest number that fits into status; a label can have any number."""


def follow_pods(view: View) -> Move | Hold | None:
    """Move the job to the attempt of its pods when these are at least 10 s old.

    Before that, nothing changes, because the status is perhaps just late. If the pods' attempt is
    too high for status, a label is wrong, and nothing changes until somebody corrects it.
    """
    left = _seconds_left(view)
    if left is None or left > 0:
        return Hold(seconds=left, stops=Stop.CHANGES)
    return Move(with_attempt(view, view.job.status, _later_attempt(view)))


def _seconds_left(view: View) -> float | None:
    """Seconds until the status follows the pods; None if it cannot."""
    attempt = _later_attempt(view)
    later = (pod.raw["metadata"] for pod in view.all_pods if pod.attempt == attempt)
    created = [parse_time(each.get("creationTimestamp")) for each in later]
    if not created or attempt > MAX_ATTEMPT:
        return None
    ages = [(view.now - at).total_seconds() for at in created if at]
    return max(0.0, BEHIND_SECONDS - max(ages, default=0.0))


def _later_attempt(view: View) -> int:
    return max(pod.attempt for pod in view.all_pods)
