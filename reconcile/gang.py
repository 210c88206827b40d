"""The gang: whether a job is scheduled whole, by whom, and the PodGroup that says so.

A PodGroup named as the job belongs to the user: used as it is, never changed, never deleted.
The operator's own has part of the job's UID in its name, so that it never takes the name of one
that a user is about to create.
"""

from dataclasses import dataclass
from enum import StrEnum

from api.constants import (
    ANNOTATION_GROUP_NAME,
    GANG_API_VERSION,
    KIND,
    MAX_CHILD_NAME,
    VOLCANO,
    VOLCANO_API_VERSION,
    Reason,
    Role,
)
from api.objects import Raw, is_controlled_by, is_deleting, name_of, parse_time, uid_of
from reconcile.plan import Create, Delete, Patch
from reconcile.rendezvous import child_labels
from reconcile.view import View

USER_POD_GROUP_WAIT_SECONDS = 5.0
"""Users put their PodGroup after the job in the same file: so long the job waits for it."""
UNSERVED_RETRY_SECONDS = 5.0
"""No event tells a job that the API server has begun to serve PodGroups."""
UID_CHARACTERS = 8


class GangKind(StrEnum):
    """Which API forms the gang."""

    VOLCANO = "volcano"
    KUBERNETES = "kubernetes"


@dataclass(frozen=True, slots=True)
class Gang:
    """The gang that the job's pods join. `exists` says whether its PodGroup is there."""

    kind: GangKind
    name: str
    exists: bool
    is_users: bool


@dataclass(frozen=True, slots=True)
class GangHold:
    """Why no pod may be created yet. `seconds` is when to look again, None for an event."""

    reason: Reason
    message: str
    seconds: float | None


def wanted_kind(view: View) -> GangKind | None:
    """Which kind of gang the job is to be, by its worker template, its policy, or the flag."""
    spec = view.job.spec
    if names_volcano(view):
        return GangKind.VOLCANO
    if view.settings.scheduling == GangKind.KUBERNETES:
        return GangKind.KUBERNETES
    if view.settings.scheduling == GangKind.VOLCANO or spec.scheduling_policy is not None:
        return GangKind.VOLCANO
    return None


def names_volcano(view: View) -> bool:
    """Whether the worker template itself names Volcano."""
    worker = view.job.spec.roles.get(Role.WORKER)
    return worker is not None and worker.pod_spec.get("schedulerName") == VOLCANO


def find_gang(view: View) -> Gang | None:
    """The gang of the job as it stands, or None where it asks for none."""
    kind = wanted_kind(view)
    if kind is None:
        return None
    if kind is GangKind.VOLCANO and _joins_users(view):
        exists = users_pod_group(view) is not None
        return Gang(kind, view.job.name, exists, is_users=True)
    return Gang(kind, own_name(view), exists=own_pod_group(view) is not None, is_users=False)


def _joins_users(view: View) -> bool:
    """Whether the pods belong to the user's PodGroup.

    Pods that exist decide: an attempt's pods must not be split between two PodGroups.
    """
    for pod in view.pods.values():
        annotations = pod.raw["metadata"].get("annotations") or {}
        return bool(annotations.get(ANNOTATION_GROUP_NAME) == view.job.name)
    return users_pod_group(view) is not None


def own_name(view: View) -> str:
    """`<job>-<8 hex of the UID>`, the job's part cut so that it stays a valid name."""
    suffix = view.job.uid.replace("-", "")[:UID_CHARACTERS]
    return f"{view.job.name[: MAX_CHILD_NAME - UID_CHARACTERS - 1]}-{suffix}"


def own_pod_group(view: View) -> Raw | None:
    """The operator's own PodGroup of this job, if it exists."""
    for group in view.observed.pod_groups:
        if name_of(group) == own_name(view) and not is_deleting(group):
            return group
    return None


def users_pod_group(view: View) -> Raw | None:
    """The PodGroup with the job's name that this job does not control, or None."""
    group = view.observed.named_pod_group
    if group is None or is_deleting(group) or is_controlled_by(group, KIND, view.job.uid):
        return None
    return group


def find_hold(view: View, gang: Gang) -> GangHold | None:
    """What keeps the gang's pods from being created, or None."""
    if not _is_served(view, gang.kind):
        message = _unserved_message(gang.kind)
        return GangHold(Reason.POD_GROUP_UNAVAILABLE, message, UNSERVED_RETRY_SECONDS)
    if gang.is_users:
        return _check_users_group(view)
    waited = _waited_seconds(view)
    if names_volcano(view) and not gang.exists and waited < USER_POD_GROUP_WAIT_SECONDS:
        message = f'waiting for a PodGroup named "{view.job.name}" before making one'
        return GangHold(Reason.POD_GROUP_PENDING, message, USER_POD_GROUP_WAIT_SECONDS - waited)
    return None


def _waited_seconds(view: View) -> float:
    """Seconds since the operator wrote the job's start.

    Not since the job's creation: an operator that comes late has not yet looked for a PodGroup.
    """
    started = parse_time(view.job.status.start_time)
    return (view.now - started).total_seconds() if started else 0.0


def own_pod_group_creates(view: View, gang: Gang) -> tuple[Create, ...]:
    """The create of the operator's PodGroup where it is missing."""
    if gang.is_users or gang.exists:
        return ()
    return (Create(_build_pod_group(view, gang)),)


def own_pod_group_patches(view: View, gang: Gang) -> tuple[Patch, ...]:
    """The change that makes the operator's PodGroup follow the replicas."""
    group = None if gang.is_users else own_pod_group(view)
    if group is None:
        return ()
    wanted = _build_spec(view, gang.kind)
    if gang.kind is not GangKind.VOLCANO or _covers(group.get("spec") or {}, wanted):
        return ()
    return (Patch("PodGroup", name_of(group), uid_of(group), {"spec": wanted}),)


def own_pod_group_deletes(view: View) -> tuple[Delete, ...]:
    """Deletes of the operator's PodGroups: an ended or suspended job must not hold resources."""
    return tuple(
        Delete("PodGroup", name_of(group), uid_of(group))
        for group in view.observed.pod_groups
        if not is_deleting(group)
    )


def least_members(view: View) -> int:
    """How many pods must be placed together: minAvailable, else the least that the job needs."""
    policy = view.job.spec.scheduling_policy
    if policy is not None and policy.min_available is not None:
        return policy.min_available
    if view.job.spec.is_elastic:
        return sum(role.least for role in view.job.spec.roles.values())
    return view.job.spec.total_replicas


def _is_served(view: View, kind: GangKind) -> bool:
    if kind is GangKind.VOLCANO:
        return view.settings.volcano_served
    return view.settings.gang_served


def _unserved_message(kind: GangKind) -> str:
    api = VOLCANO_API_VERSION if kind is GangKind.VOLCANO else GANG_API_VERSION
    what = "Volcano is not installed" if kind is GangKind.VOLCANO else "gang scheduling is off"
    return f"the API server serves no PodGroup of {api}: {what}"


def _check_users_group(view: View) -> GangHold | None:
    group = users_pod_group(view)
    if group is None:
        message = f'the pods belong to PodGroup "{view.job.name}", which is gone'
        return GangHold(Reason.POD_GROUP_UNAVAILABLE, message, None)
    least = (group.get("spec") or {}).get("minMember") or 0
    total = view.job.spec.total_replicas
    if least <= total:
        return None
    message = f"PodGroup {view.job.name} wants minMember {least}, but the job has {total} pods"
    return GangHold(Reason.POD_GROUP_INVALID, message, None)


def _build_pod_group(view: View, gang: Gang) -> Raw:
    version = VOLCANO_API_VERSION if gang.kind is GangKind.VOLCANO else GANG_API_VERSION
    return {
        "apiVersion": version,
        "kind": "PodGroup",
        "metadata": {
            "name": gang.name,
            "namespace": view.job.namespace,
            "labels": child_labels(view.job, view.attempt),
            "ownerReferences": [view.job.owner_reference()],
        },
        "spec": _build_spec(view, gang.kind),
    }


def _build_spec(view: View, kind: GangKind) -> Raw:
    if kind is GangKind.KUBERNETES:
        return {"schedulingPolicy": {"gang": {"minCount": least_members(view)}}}
    spec: Raw = {"minMember": least_members(view)}
    policy = view.job.spec.scheduling_policy
    if policy is not None:
        optional = {
            "queue": policy.queue,
            "priorityClassName": policy.priority_class,
            "minResources": policy.min_resources,
        }
        spec |= {key: value for key, value in optional.items() if value}
    return spec


def _covers(existing: Raw, wanted: Raw) -> bool:
    return all(existing.get(key) == value for key, value in wanted.items())
