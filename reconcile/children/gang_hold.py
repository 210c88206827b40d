"""Reports why pods of a job with gang scheduling are not created or placed, from its PodGroup."""

from api.constants import Reason
from api.objects import Raw, condition_of, parse_time
from reconcile.model.hold import Hold, Stop
from reconcile.model.view import View
from reconcile.objects.gang import (
    Gang,
    GangKind,
    api_version,
    find_gang,
    names_volcano,
    own_pod_group,
    users_pod_group,
)

USER_POD_GROUP_WAIT_SECONDS = 5.0
"""How long a job waits for its user's PodGroup, which often comes after it in the same file."""
UNSERVED_RETRY_SECONDS = 5.0
"""How often to retry: no event says that the API server has begun to serve PodGroups."""


_INSTALL = {
    GangKind.VOLCANO: "have it installed, or leave out schedulingPolicy and schedulerName: volcano",
    GangKind.KUBERNETES: "have the feature gates GenericWorkload and GangScheduling enabled in API "
    "server (with --runtime-config=scheduling.k8s.io/v1alpha2=true), scheduler and "
    "controller-manager",
}


def await_gang(view: View) -> Hold | None:
    """Wait for the job's PodGroup, or for the gang scheduler to find nodes for it."""
    gang = find_gang(view)
    if gang is None:
        return None
    return _unserved(view, gang) or _ungrouped(view, gang) or _unplaced(view, gang)


def _unserved(view: View, gang: Gang) -> Hold | None:
    is_volcano = gang.kind is GangKind.VOLCANO
    if view.observed.volcano_served if is_volcano else view.observed.gang_served:
        return None
    what = "Volcano is not installed" if is_volcano else "gang scheduling is off"
    cause = f"the API server serves no PodGroup of {api_version(gang.kind)}: {what}"
    return _hold(Reason.POD_GROUP_UNAVAILABLE, cause, _INSTALL[gang.kind], UNSERVED_RETRY_SECONDS)


def _ungrouped(view: View, gang: Gang) -> Hold | None:
    if gang.is_users:
        return _check_users_group(view)
    left = USER_POD_GROUP_WAIT_SECONDS - _waited_seconds(view)
    if gang.exists or left <= 0 or not names_volcano(view):
        return None
    cause = f'waiting for a PodGroup named "{view.job.name}" before making one'
    next_step = f"nothing, the operator makes one after {USER_POD_GROUP_WAIT_SECONDS:.0f} s"
    return _hold(Reason.POD_GROUP_PENDING, cause, next_step, left)


def _hold(reason: Reason, cause: str, next_step: str, seconds: float | None = None) -> Hold:
    return Hold(reason, cause, next_step, seconds, stops=Stop.PODS)


def _check_users_group(view: View) -> Hold | None:
    group = users_pod_group(view)
    if group is None:
        cause = f'the pods belong to PodGroup "{view.job.name}", which is gone'
        return _hold(Reason.POD_GROUP_UNAVAILABLE, cause, "create it again")
    least = (group.get("spec") or {}).get("minMember") or 0
    total = view.job.spec.total_replicas
    if least <= total:
        return None
    cause = f"PodGroup {view.job.name} has minMember {least}, but the job has {total} pods"
    return _hold(Reason.POD_GROUP_INVALID, cause, f"set its minMember to {total} or less")


def _unplaced(view: View, gang: Gang) -> Hold | None:
    group = users_pod_group(view) if gang.is_users else own_pod_group(view)
    text = _group_message(group or {})
    # Volcano leaves the condition true when it has found nodes after all.
    if not text or view.is_placed:
        return None
    return Hold(Reason.POD_GROUP_PENDING, text, "wait for room in the queue, or ask for less")


def _waited_seconds(view: View) -> float:
    """Seconds since the start time in status; 0 if status has none."""
    started = parse_time(view.job.status.start_time)
    return (view.now - started).total_seconds() if started else 0.0


def _group_message(group: Raw) -> str:
    """The batch scheduler's message about a PodGroup that it has not admitted or placed."""
    status: Raw = group.get("status") or {}
    is_out = status.get("phase") == "Pending"
    what = "enqueued" if is_out else "scheduled"
    volcanos = condition_of(group, "Unschedulable")
    condition = volcanos or condition_of(group, "PodGroupScheduled", "False") or {}
    if said := condition.get("message") or condition.get("reason"):
        return f"PodGroup not {what}: {said}"
    return "PodGroup not enqueued: its queue has not accepted it" if is_out else ""
