"""Gang scheduling: whether a job wants it, which scheduler does it, and the job's PodGroup.

A Volcano PodGroup with the job's name belongs to the user. It is used as it is, and never changed
or deleted. The name of the operator's own PodGroup contains part of the job's UID, so it is never
a name that a user wants to use.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from api.constants import (
    ANNOTATION_GROUP_NAME,
    GANG_API_VERSION,
    VOLCANO,
    VOLCANO_API_VERSION,
    Role,
)
from api.job import pod_group_name
from api.objects import Raw, is_deleting, name_of
from reconcile.model.plan import Create, ObjectReference, Patch
from reconcile.model.view import View
from reconcile.objects.rendezvous import child_labels


class GangKind(StrEnum):
    """The API that provides the PodGroup."""

    VOLCANO = "volcano"
    KUBERNETES = "kubernetes"


@dataclass(frozen=True, slots=True)
class Gang:
    """The PodGroup that the job's pods join, and whether it exists and belongs to the user."""

    kind: GangKind
    name: str
    exists: bool
    is_users: bool


def wanted_kind(view: View) -> GangKind | None:
    """The PodGroup kind that the worker template, the job's policy or --scheduling asks for."""
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
    """The job's gang as it is now, or None if it asks for none.

    Adopted pods belong to the former operator's PodGroup, which is deleted with them.
    """
    kind = wanted_kind(view)
    if kind is None or view.is_adopted:
        return None
    if kind is GangKind.VOLCANO and _joins_users(view):
        return Gang(kind, view.job.name, users_pod_group(view) is not None, is_users=True)
    return Gang(kind, own_name(view), exists=own_pod_group(view) is not None, is_users=False)


def _joins_users(view: View) -> bool:
    """Whether the pods belong to the user's PodGroup.

    If a pod exists, its PodGroup counts, because an attempt's pods must not be in two PodGroups.
    """
    for pod in view.pods.values():
        annotations = pod.raw["metadata"].get("annotations") or {}
        return bool(annotations.get(ANNOTATION_GROUP_NAME) == view.job.name)
    return users_pod_group(view) is not None


def own_name(view: View) -> str:
    """The name of the operator's own PodGroup of this job."""
    return pod_group_name(view.job.name, view.job.uid)


def own_pod_group(view: View) -> Raw | None:
    """The operator's own PodGroup of this job, if it exists and is not being deleted."""
    found = (each for each in view.observed.pod_groups if name_of(each) == own_name(view))
    return next((each for each in found if not is_deleting(each)), None)


def users_pod_group(view: View) -> Raw | None:
    """The PodGroup with the job's name, unless the job controls it or it is being deleted."""
    group = view.observed.named_pod_group
    if group is None or is_deleting(group) or view.job.owner.controls(group):
        return None
    return group


def own_pod_group_creates(view: View, gang: Gang) -> tuple[Create, ...]:
    """The create of the operator's PodGroup, if it is missing."""
    if gang.is_users or gang.exists:
        return ()
    return (Create("PodGroup", gang.name, partial(_build_pod_group, view, gang)),)


def own_pod_group_patches(view: View, gang: Gang) -> tuple[Patch, ...]:
    """The change that makes the operator's PodGroup follow the job's spec, only for Volcano."""
    group = None if gang.is_users else own_pod_group(view)
    if group is None:
        return ()
    spec, wanted = group.get("spec") or {}, _build_spec(view, gang.kind)
    if gang.kind is not GangKind.VOLCANO or spec | wanted == spec:
        return ()
    return (Patch(ObjectReference.of(group), {"spec": wanted}),)


def least_members(view: View) -> int:
    """How many pods must be placed together: minAvailable, else as few as the job can run with."""
    policy = view.job.spec.scheduling_policy
    if policy is not None and policy.min_available is not None:
        return policy.min_available
    return view.job.spec.least_replicas


def api_version(kind: GangKind) -> str:
    """The API that serves PodGroups of this kind."""
    return VOLCANO_API_VERSION if kind is GangKind.VOLCANO else GANG_API_VERSION


def _build_pod_group(view: View, gang: Gang) -> Raw:
    return {
        "apiVersion": api_version(gang.kind),
        "kind": "PodGroup",
        "metadata": view.job.child_metadata(gang.name, child_labels(view.job, view.attempt)),
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
