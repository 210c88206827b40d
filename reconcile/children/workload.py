"""Creates, changes and deletes a job's Workload, and writes its status for Kueue.

To take quota back, Kueue sets the condition Evicted and waits until the job has no pod left and its
controller clears the admission. Conditions also report the job's end and readiness. A merge patch
replaces the whole list of conditions, so it applies only to the version that was seen.
"""

from api.constants import ANNOTATION_SUSPENDED, LABEL_JOB_NAME, LABEL_QUEUE, Condition, Phase, Role
from api.job import pod_name
from api.objects import (
    Raw,
    condition_named,
    controller_of,
    format_time,
    labels_of,
    name_of,
    parse_time,
)
from reconcile.attempt.deadlines import is_time_up
from reconcile.children.cleanup import has_ended
from reconcile.model.plan import Create, Delete, ObjectReference, Patch, Plan, deletes_of
from reconcile.model.view import View
from reconcile.model.workload import (
    WORKLOAD,
    has_quota,
    is_admitted,
    is_set,
    priority_class_of,
)
from reconcile.objects.workload import (
    build_adoption,
    build_workload,
    is_of_job,
    is_stale,
    is_suspended,
    uses_kueue,
)

REQUEUED_AT_ONCE = ("Preempted", "NodeFailures")
"""After these evictions the job is queued again at once; after others, Kueue says when."""
INACTIVE = "Deactivated"
"""The reason of the condition Requeued of an inactive Workload, which Kueue queues again only with
exactly this reason. The reason of the condition Evicted has a suffix.
"""
TIME_IS_UP = "MaximumExecutionTimeExceeded"
DEACTIVATION = "DeactivationTarget"
"""The condition by which Kueue plans to make a Workload inactive. Kueue writes it again while pods
stop, and would then stop a job that its user has resumed, so every status patch of an inactive
Workload removes it.
"""


def workload_deletes(view: View) -> tuple[Delete, ...]:
    """When no pod is left, surplus Workloads, and the job's own if it no longer fits the job."""
    if view.observed.pods:
        return ()  # their quota goes with a Workload, of whatever name
    own = view.job.workload_name
    others = tuple(each for each in view.observed.workloads if name_of(each) != own)
    workload = view.workload
    if workload is None:
        return deletes_of(others)
    is_wrong = not uses_kueue(view) or is_stale(view, workload)
    return deletes_of((*others, workload) if is_wrong else others)


def workload_creates(view: View) -> tuple[Create, ...]:
    """The create of the missing Workload; none while pods or an older Workload are still there."""
    name = view.job.workload_name
    if view.job.prebuilt:
        return ()  # MultiKueue makes it
    exists = any(name_of(each) == name for each in view.observed.workloads)
    if exists or view.observed.pods or not (uses_kueue(view) and view.observed.workloads_served):
        return ()
    named = priority_class_of(view.observed.job)
    if named is not None and not view.observed.unwatched_objects.get(named):
        return ()
    return (Create("Workload", name, lambda: build_workload(view)),)


def workload_patches(view: View) -> tuple[Patch, ...]:
    """The changes that a live job's Workload needs."""
    workload = view.workload
    if not uses_kueue(view):
        return ()
    if workload is None:
        prebuilt = view.observed.unwatched_objects.get((WORKLOAD, view.job.prebuilt))
        if not prebuilt or controller_of(prebuilt) or not is_of_job(view, prebuilt):
            return ()
        if labels_of(prebuilt).get(LABEL_JOB_NAME) != view.job.name:
            return ()  # pods of its job, with names of their own, perhaps still use its quota
        return (Patch(ObjectReference.of(prebuilt), build_adoption(view)),)
    spec = _spec_patch(view, workload)
    return (*spec, *_status_patch(view, workload, *_live_status(view, workload)))


def tend_delegated(view: View) -> Plan:
    """In MultiKueue's manager, maintain only the Workload: the job runs in another cluster."""
    is_managers = view.job.is_sent_away and view.observed.workloads_served
    if not is_managers or view.job.is_deleting or view.job.status.is_terminal:
        return Plan()
    creates = tuple(filter(None, (workload_creates(view),)))
    return Plan(workload_deletes(view), workload_patches(view), creates)


def finish_patches(view: View) -> tuple[Patch, ...]:
    """Report the end of a job when no pod runs any more. This frees its quota."""
    workload = view.workload
    is_over = is_set(workload, "Finished") or not view.settings.kueue
    if workload is None or is_over or not all(has_ended(pod) for pod in view.all_pods):
        return ()
    is_well = view.job.status.phase == Phase.COMPLETED
    condition = view.job.status.condition(Condition.COMPLETED if is_well else Condition.FAILED)
    message = condition.message if condition else ""
    finished = ("Finished", True, "Succeeded" if is_well else "Failed", message)
    return _status_patch(view, workload, {}, finished)


def job_deletes(view: View) -> tuple[Delete, ...]:
    """The job itself, if its ttlSecondsAfterFinished has passed and its quota is given back."""
    is_due = is_time_up(view) and not (finish_patches(view) or has_quota(view.workload))
    return deletes_of([view.observed.job] if is_due else ())


def _spec_patch(view: View, workload: Raw) -> tuple[Patch, ...]:
    """Make the Workload follow spec.suspend and, while it has no quota, the job's queue label.

    If a Workload is inactive without our annotation, Kueue or an administrator stopped it, so it is
    left inactive.
    """
    spec: Raw = workload.get("spec") or {}
    body: Raw = {}
    if view.job.spec.suspend != is_suspended(workload):
        mark = "true" if view.job.spec.suspend else None
        body["metadata"] = {"annotations": {ANNOTATION_SUSPENDED: mark}}
        body["spec"] = {"active": not view.job.spec.suspend}
    queue = view.job.labels.get(LABEL_QUEUE, "")
    if not has_quota(workload) and queue not in ("", spec.get("queueName")):
        body["spec"] = body.get("spec", {}) | {"queueName": queue}
    return (Patch(ObjectReference.of(workload), body),) if body else ()


_Told = tuple[str, bool, str, str]
"""A condition: type, status, reason, message."""


def _live_status(view: View, workload: Raw) -> tuple[Raw, *tuple[_Told, ...]]:
    """Fields and conditions of the Workload of a job that has not ended."""
    if is_admitted(workload):
        return _running_status(view, workload) if view.job.is_ours else ({},)
    if has_quota(workload) and is_set(workload, "Evicted") and not view.observed.pods:
        return _returned_status(view, workload)
    return ({},)


def _running_status(view: View, workload: Raw) -> tuple[Raw, *tuple[_Told, ...]]:
    fields: Raw = {}
    # By name: whoever may change pods can change their labels.
    still_run = {pod.name for pod in view.all_pods if not has_ended(pod)}
    completed = view.completed.get(Role.WORKER, ())
    done = sum(pod_name(view.job.name, Role.WORKER, at) not in still_run for at in completed)
    told = {each["name"]: each["count"] for each in _status(workload).get("reclaimablePods") or ()}
    if done > told.get(str(Role.WORKER), 0):
        fields["reclaimablePods"] = [{"name": str(Role.WORKER), "count": done}]
    before = condition_named(workload, "PodsReady").get("reason", "")
    has_recovered = before in ("WaitForRecovery", "Recovered")
    if view.all_run:
        reason = "Recovered" if has_recovered else "Started"
        return fields, ("PodsReady", True, reason, "all pods run or have ended well")
    if is_set(workload, "PodsReady"):
        return fields, ("PodsReady", False, "WaitForRecovery", "a pod does not run")
    return (fields,)


def _returned_status(view: View, workload: Raw) -> tuple[Raw, *tuple[_Told, ...]]:
    """Give the quota back: no pod is left."""
    evicted = condition_named(workload, "Evicted")
    reason, message = evicted.get("reason") or "Evicted", evicted.get("message") or ""
    why = INACTIVE if reason.startswith(INACTIVE) else reason
    told: list[_Told] = [
        ("Requeued", reason in REQUEUED_AT_ONCE, why, message),
        ("QuotaReserved", False, "PendingEvaluation", message),
        ("Admitted", False, "NoReservation", "the workload has no reservation"),
    ]
    if is_set(workload, "PodsReady"):
        told.append(("PodsReady", False, "WaitForStart", "not all pods run"))
    return {"admission": None} | _time_used(view, workload, reason), *told


def _time_used(view: View, workload: Raw, reason: str) -> Raw:
    """The used part of maximumExecutionTimeSeconds; a job that has used all of it starts at 0."""
    admitted = condition_named(workload, "Admitted")
    since = parse_time(admitted.get("lastTransitionTime"))
    if admitted.get("status") != "True" or since is None or reason.endswith(TIME_IS_UP):
        return {}
    before = _status(workload).get("accumulatedPastExecutionTimeSeconds") or 0
    seconds = max(0, int((view.now - since).total_seconds()))
    return {"accumulatedPastExecutionTimeSeconds": before + seconds}


def _status_patch(view: View, workload: Raw, fields: Raw, *told: _Told) -> tuple[Patch, ...]:
    """The patch that sets these fields and conditions, if any of them differs."""
    conditions = {each["type"]: each for each in _status(workload).get("conditions") or ()}
    if (workload.get("spec") or {}).get("active") is False:
        conditions.pop(DEACTIVATION, None)
    changed = False
    for type_, is_true, reason, message in told:
        old, status = conditions.get(type_, {}), "True" if is_true else "False"
        if (old.get("status"), old.get("reason")) == (status, reason):
            continue
        changed = True
        flips = old.get("status") != status
        conditions[type_] = {
            "type": type_,
            "status": status,
            "reason": reason,
            "message": message,
            "observedGeneration": workload["metadata"].get("generation", 0),
            "lastTransitionTime": format_time(view.now) if flips else old["lastTransitionTime"],
        }
    if not changed and not fields:
        return ()
    version = {"resourceVersion": workload["metadata"]["resourceVersion"]}
    body = {"metadata": version, "status": {**fields, "conditions": list(conditions.values())}}
    return (Patch(ObjectReference.of(workload), body, "status"),)


def _status(workload: Raw) -> Raw:
    return workload.get("status") or {}
