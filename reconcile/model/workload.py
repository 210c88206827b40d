"""Reads a job's Workload: whether the job has quota, for how many pods, and in which flavors."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from api.constants import LABEL_QUEUE_PRIORITY, TERMINAL_PHASES, Role
from api.job import PaddleJob, parse_prebuilt
from api.objects import Raw, condition_of, is_deleting, labels_of, name_of
from reconcile.model.plan import Child

FLAVOR = "ResourceFlavor"
WORKLOAD = "Workload"


def find_workload(job: PaddleJob, workloads: Iterable[Raw]) -> Raw | None:
    """The job's own Workload, unless it is being deleted."""
    name = job.workload_name
    found = (each for each in workloads if name_of(each) == name and not is_deleting(each))
    return next(found, None)


def is_set(workload: Raw | None, type_: str) -> bool:
    """Whether the Workload has this condition and it is true."""
    return workload is not None and condition_of(workload, type_) is not None


def has_quota(workload: Raw | None) -> bool:
    """Whether quota is reserved. If so, Kueue lets nobody change the pod sets or the queue."""
    return is_set(workload, "QuotaReserved") and not is_set(workload, "Finished")


def is_admitted(workload: Raw | None) -> bool:
    """Whether pods are allowed to exist."""
    if workload is None or not (workload.get("status") or {}).get("admission"):
        return False
    is_over = is_set(workload, "Evicted") or is_set(workload, "Finished")
    return is_set(workload, "Admitted") and has_quota(workload) and not is_over


def admitted_counts(workload: Raw) -> dict[str, int]:
    """The pods that Kueue has admitted, by role; without an admission, those that were asked for.

    Kueue says that an assignment without a count is for all pods of its pod set.
    """
    sets = workload["spec"].get("podSets") or ()
    asked = {each.get("name", ""): each.get("count", 0) for each in sets}
    admission = (workload.get("status") or {}).get("admission")
    assigned = admission.get("podSetAssignments") or () if admission else sets
    counts = {each.get("name", ""): each.get("count") for each in assigned}
    return {name: asked.get(name, 0) if n is None else n for name, n in counts.items()}


def assignment_of(workload: Raw | None, role: Role) -> Raw:
    """The assignment of Kueue for a role's pods; empty without an admission."""
    admission = ((workload or {}).get("status") or {}).get("admission") or {}
    found = (each for each in admission.get("podSetAssignments") or () if each["name"] == role)
    return next(found, {})


def flavors_of(workload: Raw | None, role: Role) -> list[str]:
    """The names of the ResourceFlavors assigned to a role's pods, each once."""
    return sorted(set((assignment_of(workload, role).get("flavors") or {}).values()))


def places_pods(workload: Raw | None, role: Role) -> bool:
    """Whether Kueue chooses a node for each pod of a role."""
    return "topologyAssignment" in assignment_of(workload, role)


def limit_replicas(job: PaddleJob, workload: Raw) -> PaddleJob:
    """The job with no more replicas of an elastic role than Kueue has admitted."""
    if not job.spec.is_elastic or not has_quota(workload):
        return job
    roles, admitted = dict(job.spec.roles), admitted_counts(workload)
    for role, spec in roles.items():
        count = admitted.get(role, spec.replicas)
        roles[role] = replace(spec, replicas=min(spec.replicas, count))
    return replace(job, spec=replace(job.spec, roles=roles))


def priority_class_of(job: Raw) -> Child | None:
    """Kind and name of the priority class that the job names, or None if it names none."""
    if label := labels_of(job).get(LABEL_QUEUE_PRIORITY):
        return "WorkloadPriorityClass", label
    specs = (job["spec"][role]["template"]["spec"] for role in Role if job["spec"].get(role))
    names = (spec.get("priorityClassName") for spec in specs)
    return next((("PriorityClass", name) for name in names if name), None)


def objects_to_read(job: Raw, workloads: tuple[Raw, ...], pods: int) -> Iterator[Child]:
    """Kind and name of the objects that the next step of the job needs and that no watch shows.

    A new Workload needs the value of its priority class, and new pods need their flavors. A
    Workload that MultiKueue has sent has no label of the job yet, so no watch shows it.
    """
    if (job.get("status") or {}).get("phase") in TERMINAL_PHASES:
        return
    if (prebuilt := parse_prebuilt(job)) and not workloads:
        yield WORKLOAD, prebuilt
    named = priority_class_of(job)
    if named is not None and all(map(is_deleting, workloads)):
        yield named
    admissions = ((each.get("status") or {}).get("admission") or {} for each in workloads)
    assigned = [each for one in admissions for each in one.get("podSetAssignments") or ()]
    if pods < sum(count for each in workloads for count in admitted_counts(each).values()):
        names = {name for each in assigned for name in (each.get("flavors") or {}).values()}
        yield from ((FLAVOR, name) for name in sorted(names))
