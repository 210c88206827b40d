"""Deletes the pods of a job if only some of them are placed for too long, to let other jobs run.

Two jobs that each occupy half of the nodes, or of a quota, would wait for the other half forever,
because no program starts before every pod of its job has an address. After a while such a job
deletes its pods and creates them again after a back-off. No program has run, so nothing is lost and
no restart is counted. The back-off grows. It differs from job to job, because otherwise the same
two jobs could block each other again and again.

If a pod has an error of its own, such as a wrong image, that error is reported first, because its
grace period would never begin while the job reports a lack of nodes.

Jobs with gang scheduling are left to their scheduler. Elastic jobs keep their pods, because they
train with the workers that are placed. A job also keeps its pods after a program has started.
"""

import hashlib
from collections import Counter
from dataclasses import replace
from datetime import timedelta

from api.constants import Reason
from api.objects import condition_of, format_time, parse_time
from api.status import JobStatus
from reconcile.attempt.restart import restart_delay, with_attempt
from reconcile.children.refusals import is_over_quota
from reconcile.model.hold import GIVE_BACK_FLAG, Hold, Stop, and_more, clock_time, grace_since
from reconcile.model.move import Move
from reconcile.model.plan import EmitEvent, Refusal
from reconcile.model.pods import PodState, PodView
from reconcile.model.view import View
from reconcile.objects.gang import find_gang
from reconcile.objects.rendezvous import all_have_addresses

MAX_NODES = 5
"""The most nodes that a message names."""


def await_room(view: View) -> Move | Hold | None:
    """Delete the pods of a job that has been partly placed for too long, or wait until then."""
    if not view.settings.give_back_after_seconds or view.has_started or view.job.spec.is_elastic:
        return None
    if find_gang(view):
        return None
    if view.job.status.given_back_at and not view.pods:
        return _await_next_try(view, view.job.status)
    since = grace_since(view.job.status, Reason.PARTLY_PLACED, GIVE_BACK_FLAG)
    cause = _explain(view)
    if not cause:
        # The stored condition stays until this process has tried to create what is missing itself.
        stays = since and view.pods and (view.missing or all_have_addresses(view))
        return Hold(Reason.PARTLY_PLACED, keeps=True) if stays else None
    due = (since or view.now) + timedelta(seconds=view.settings.give_back_after_seconds)
    if view.now >= due:
        return _give_back(view, cause)
    return Hold(
        Reason.PARTLY_PLACED,
        cause,
        f"at {clock_time(due)} the job deletes its pods and tries again later ({GIVE_BACK_FLAG})",
        seconds=(due - view.now).total_seconds() if since else None,
        grace=GIVE_BACK_FLAG,
        warns=bool(_refused_by_quota(view)),
    )


def back_off_seconds(uid: str, times: int) -> float:
    """The back-off of a job that has given its pods back this many times in a row.

    10 s doubling to 6 min, times a factor of 0.5 to 1.5 that follows from the UID and `times`.
    """
    digest = hashlib.sha256(f"{uid}/{times}".encode()).digest()
    share = int.from_bytes(digest[:4]) / 2**32
    return restart_delay(times + 1) * (0.5 + share)


def _await_next_try(view: View, status: JobStatus) -> Hold | None:
    """The hold for the back-off after the job deleted its pods; None when it is over."""
    since = parse_time(status.given_back_at) or view.now
    due = since + timedelta(seconds=back_off_seconds(view.job.uid, status.given_back))
    left = (due - view.now).total_seconds()
    if left <= 0:
        return None
    times = "once" if status.given_back == 1 else f"{status.given_back} times in a row"
    cause = f"only some pods found room, so the job deleted them ({times})"
    next_step = f"all pods are created again at {clock_time(due)}"
    return Hold(Reason.PARTLY_PLACED, cause, next_step, seconds=left, stops=Stop.PODS)


def _explain(view: View) -> str:
    """Which pods are placed, where, and why the others are not; empty if not partly placed."""
    refused = _refused_by_quota(view)
    unplaced = [(pod, text) for pod in view.pods.values() if (text := _unschedulable(pod))]
    holding = [pod for pod in view.pods.values() if refused or pod.node]
    if not holding or not (refused or unplaced):
        return ""
    total, number = view.job.spec.total_replicas, len(holding)
    what = "quota" if refused else "room"
    held = f"{number} of {total} pods hold {what}{_where(holding)} and cannot start"
    rest = refused[0].message if refused else f"{unplaced[0][0].name}: {unplaced[0][1]}"
    return f"{held}; not placed: {rest}"


def _refused_by_quota(view: View) -> list[Refusal]:
    """The refused children without which no program of the job starts: also its ConfigMap."""
    return [each for each in view.observed.refusals if is_over_quota(each)]


def _where(pods: list[PodView]) -> str:
    """The nodes of these pods, such as ` on node-1 (2), node-2 (1)`; empty without any."""
    nodes = sorted(Counter(pod.node for pod in pods if pod.node).items())
    names = ", ".join(f"{node} ({number})" for node, number in nodes[:MAX_NODES])
    return f" on {names}{and_more(max(0, len(nodes) - MAX_NODES))}" if names else ""


def _unschedulable(pod: PodView) -> str:
    """The scheduler's message about a pod that fits on no node, but not about a gated pod."""
    if pod.state is not PodState.PENDING:
        return ""
    condition = condition_of(pod.raw, "PodScheduled", "False") or {}
    is_unplaced = condition.get("reason") == "Unschedulable"
    return str(condition.get("message") or "no node fits") if is_unplaced else ""


def _give_back(view: View, cause: str) -> Move:
    """Raise the attempt's number, which makes all pods obsolete, and count no restart."""
    before = view.job.status
    status = replace(
        with_attempt(view, before, view.attempt + 1),
        restart_count=before.restart_count,
        given_back=before.given_back + 1,
        given_back_at=format_time(view.now),
    )
    message = f"deleted the pods again, because only some found room: {cause}"
    event = EmitEvent("Warning", Reason.PARTLY_PLACED, message)
    return Move(status, (event,), hold=_await_next_try(view, status))
