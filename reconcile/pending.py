"""Why a job waits, in one sentence: gathered from its pods, its PodGroup and refused writes."""

import re
from collections.abc import Sequence

from api.constants import Condition, Reason
from api.objects import Raw, condition_of, name_of, parse_time
from reconcile.gang import Wait, find_gang, find_hold, own_pod_group, users_pod_group
from reconcile.host_ports import explain_shortage, lacks_ports
from reconcile.plan import Refusal
from reconcile.pods import PodState, PodView
from reconcile.restart import back_off_seconds, restarting_since
from reconcile.startup_errors import StartupError, startup_errors
from reconcile.view import View

MAX_REASON_CHARACTERS = 400
MORE = re.compile(r" \(and \d+ more\)$")


def explain_wait(view: View) -> Wait:
    """The most telling reason for which the job waits.

    The message holds no elapsed time: it would change, and be written, with every pass.
    """
    causes = (
        _tell_refused(view.observed.refusals),
        _terminating(view),
        _backing_off(view),
        _held(view),
        _ports(view),
        _startup_error(view),
        _unscheduled(view),
    )
    for cause in causes:
        if cause is not None:
            return cause
    total = view.job.spec.total_replicas
    return Wait(Reason.WAITING_FOR_PODS, f"waiting for {_count(total, 'pod')} to start")


def explain_leftovers(view: View) -> Wait | None:
    """Why children of a job that has ended or is suspended stay: nobody may delete them."""
    there = {pod.name for pod in view.all_pods} | {name_of(s) for s in view.observed.services}
    refused = [r for r in view.observed.refusals if r.is_delete and r.name in there]
    return _tell_refused(refused)


def _tell_refused(refusals: Sequence[Refusal]) -> Wait | None:
    if not refusals:
        return None
    reason, message = _explain_refusal(refusals[0])
    more = len(refusals) - 1
    return Wait(reason, message + (f" (and {more} more)" if more else ""))


def _explain_refusal(refusal: Refusal) -> tuple[Reason, str]:
    child = f"{refusal.kind} {refusal.name}"
    if refusal.reason == "AlreadyExists":
        message = f"{child} exists and does not belong to this job; it is left untouched"
        return Reason.NAME_CONFLICT, message
    if "exceeded quota" in refusal.message:
        message = f"quota exceeded: {refusal.message}"
        return Reason.QUOTA_EXCEEDED, message[:MAX_REASON_CHARACTERS]
    what = "cannot be deleted: " if refusal.is_delete else ""
    reason = Reason.DELETE_REFUSED if refusal.is_delete else Reason.CREATE_REFUSED
    return reason, f"{child}: {what}{refusal.message}"[:MAX_REASON_CHARACTERS]


def _terminating(view: View) -> Wait | None:
    if not view.previous_pods:
        return None
    message = f"waiting for the {_count(len(view.previous_pods), 'pod')} of the last attempt to go"
    return Wait(Reason.PODS_TERMINATING, message)


def _backing_off(view: View) -> Wait | None:
    since = restarting_since(view.job.status)
    if since is None or not back_off_seconds(view):
        return None
    count = view.job.status.restart_count
    return Wait(Reason.BACK_OFF, f"backing off before attempt {view.attempt}, restart {count}")


def _held(view: View) -> Wait | None:
    gang = find_gang(view)
    if gang is None:
        return None
    hold = find_hold(view, gang)
    if hold is not None:
        return hold
    group = users_pod_group(view) if gang.is_users else own_pod_group(view)
    text = _group_message(group or {})
    return Wait(Reason.POD_GROUP_PENDING, text) if text else None


def _group_message(group: Raw) -> str:
    """What the batch scheduler says of a PodGroup that it has not let in, or not placed."""
    status: Raw = group.get("status") or {}
    is_out = status.get("phase") == "Pending"
    what = "enqueued" if is_out else "scheduled"
    volcanos = condition_of(group, "Unschedulable")
    condition = volcanos or condition_of(group, "PodGroupScheduled", "False") or {}
    if said := condition.get("message") or condition.get("reason"):
        return f"PodGroup not {what}: {said}"[:MAX_REASON_CHARACTERS]
    return "PodGroup not enqueued: its queue has not let it in" if is_out else ""


def _ports(view: View) -> Wait | None:
    if not lacks_ports(view):
        return None
    return Wait(Reason.NO_FREE_PORTS, explain_shortage(view))


def _startup_error(view: View) -> Wait | None:
    errors = startup_errors(view)
    if not errors:
        return None
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    written = _written_message(view)
    first = next((e for e in errors if written.startswith(f"{e.pod.name}: ")), errors[0])
    message = written if _says_more(written, first) else first.message[:MAX_REASON_CHARACTERS]
    return Wait(first.reason, message + more)


def _written_message(view: View) -> str:
    """The reason for the wait that status already has."""
    pending = view.job.status.condition(Condition.PENDING)
    return MORE.sub("", pending.message) if pending and pending.status else ""


def _says_more(written: str, error: StartupError) -> bool:
    """Whether status still says why the pull failed: the kubelet no longer does in its back-off."""
    is_backing_off = error.message.startswith(f"{error.pod.name}: ImagePullBackOff: ")
    return is_backing_off and written.startswith(f"{error.pod.name}: ErrImagePull: ")


def _unscheduled(view: View) -> Wait | None:
    refused = [(pod, why) for pod in view.pods.values() if (why := _unschedulable(pod))]
    if not refused:
        return None
    oldest = min(str(why.get("lastTransitionTime") or "") for _, why in refused)
    since = parse_time(oldest)
    when = f" since {since:%H:%M:%SZ}" if since else ""
    total = view.job.spec.total_replicas
    text = str(refused[0][1].get("message") or "")[:MAX_REASON_CHARACTERS]
    message = f"{len(refused)} of {total} pods unscheduled{when}: {text}"
    return Wait(Reason.UNSCHEDULABLE, message)


def _unschedulable(pod: PodView) -> Raw | None:
    is_pending = pod.state is PodState.PENDING
    return condition_of(pod.raw, "PodScheduled", "False") if is_pending else None


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
