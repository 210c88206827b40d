"""Brings a status that is older than the job's pods up to date with them.

The cache shows each kind as of a different moment, so a status may lag briefly. It stays behind if
etcd was restored from a snapshot while the next attempt began: the status is from the snapshot, the
pods are newer. Then the status takes the attempt of the pods, and they keep running. If the status
is old only in the cache, the write hits a version conflict and changes nothing.
"""

from api.objects import parse_time
from reconcile.attempt.restart import with_attempt
from reconcile.model.hold import Hold, Stop
from reconcile.model.move import Move
from reconcile.model.view import View

BEHIND_SECONDS = 10.0
"""Much longer than one working watch lags behind another."""
MAX_ATTEMPT = 2**31 - 1
"""The highest number that status holds; a label may have any."""


def follow_pods(view: View) -> Move | Hold | None:
    """Move the job to the attempt of its pods, once they have existed for long enough.

    Until then nothing changes: the status may just be late, or a pod's label may be false.
    """
    if not view.is_behind:
        return None
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
