"""Has a status that is older than the job's pods follow them.

The cache shows each kind as of another moment, so a status may be behind for a moment. It stays so
where etcd was restored from a snapshot while the next attempt began: the job's status is that of
the snapshot, its pods are of now. Then status takes over their attempt, and they run on. Where the
status is old in the cache alone, the write meets another version of the job and changes nothing.
"""

from api.objects import parse_time
from reconcile.attempt.restart import with_attempt
from reconcile.model.hold import Hold, Stop
from reconcile.model.move import Move
from reconcile.model.view import View

BEHIND_SECONDS = 10.0
"""Far longer than a watch that works lags behind another one."""
MAX_ATTEMPT = 2**31 - 1
"""The highest number that status holds; a label may have any."""


def follow_pods(view: View) -> Move | Hold | None:
    """The job in the attempt of its pods, once they have been there for long enough.

    Until then nothing changes: the status may only be late, or a pod may pretend.
    """
    if not view.is_behind:
        return None
    left = _seconds_left(view)
    if left is None or left > 0:
        return Hold(seconds=left, stops=Stop.CHANGES)
    return Move(with_attempt(view, view.job.status, _later_attempt(view)))


def _seconds_left(view: View) -> float | None:
    """Seconds until status is to follow the pods; None where it cannot."""
    attempt = _later_attempt(view)
    created = [
        parse_time(pod.raw["metadata"].get("creationTimestamp"))
        for pod in view.all_pods
        if pod.attempt == attempt
    ]
    if not created or attempt > MAX_ATTEMPT:
        return None
    ages = [(view.now - at).total_seconds() for at in created if at]
    return max(0.0, BEHIND_SECONDS - max(ages, default=0.0))


def _later_attempt(view: View) -> int:
    return max(pod.attempt for pod in view.all_pods)
