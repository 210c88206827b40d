"""Holds a job with a queue label until Kueue has admitted it, and ends its attempt on eviction.

While the job is held, no pods are created. Its spec stays as its user wrote it.
"""

from api.catalogue.kueue import KUEUE
from api.constants import KUEUE_API_VERSION, Reason
from api.objects import Raw, condition_named
from reconcile.attempt.eviction import end_evicted
from reconcile.model.hold import Hold, Stop
from reconcile.model.move import Move, fail_job
from reconcile.model.plan import Child
from reconcile.model.view import View
from reconcile.model.workload import has_quota, priority_class_of
from reconcile.objects.flavors import assigned_flavors, find_conflict
from reconcile.objects.workload import may_run, uses_kueue

QUEUE_RETRY_SECONDS = 5.0
"""How often to retry: no watch shows a new class or flavor, or that Kueue is now installed."""
INACTIVE = "set spec.suspend to true and then to false, or its Workload's spec.active to true"
GRANT = "have an administrator grant it the permissions of --kueue (chart: kueue.enabled)"
UNSEEN = "wait for the jobs before it in the queue; if there are none, check that Kueue runs"
"""Kueue reports nothing about a job while an equal job before it in the queue does not fit."""


def await_quota(view: View) -> Move | Hold | None:
    """Wait for quota, or end the attempt of a job that has lost its quota."""
    if not uses_kueue(view):
        return None
    if not view.observed.workloads_served:
        return _unserved(view.observed.workloads_forbidden) if view.missing else None
    workload = view.workload
    if may_run(view):
        return _await_flavors(view) if view.missing else None
    if view.pods:
        return end_evicted(view)
    if view.observed.pods or any(each.kind == "Workload" for each in view.observed.refusals):
        return Hold(stops=Stop.PODS)  # other policies say what the job waits for
    return _await_workload(view) if workload is None else _queued(workload)


def _hold(
    cause: str, next_step: str, seconds: float | None = None, reason: Reason = Reason.QUEUED
) -> Hold:
    return Hold(reason, cause, next_step, seconds, stops=Stop.PODS)


def _unserved(is_forbidden: bool) -> Hold:
    if is_forbidden:
        cause = f"the operator has no right to list and watch workloads of {KUEUE_API_VERSION}"
        next_step = GRANT
    else:
        cause = f"the API server serves no Workload of {KUEUE_API_VERSION}: Kueue is not installed"
        next_step = "have it installed, or remove the label kueue.x-k8s.io/queue-name from the job"
    return _hold(cause, next_step, QUEUE_RETRY_SECONDS, Reason.QUEUE_UNAVAILABLE)


def _await_flavors(view: View) -> Move | Hold | None:
    """Wait for a missing flavor; fail a job whose template contradicts its flavors."""
    for named in assigned_flavors(view):
        if hold := _unread(view, named, "have it created again"):
            return hold
    conflict = find_conflict(view)
    return fail_job(view, Reason.INVALID_SPEC, conflict) if conflict else None


def _await_workload(view: View) -> Hold:
    if view.job.prebuilt:
        cause = f"MultiKueue's Workload {view.job.prebuilt} does not exist, or is not for this job"
        return _hold(cause, "nothing; if this lasts, submit the job again", QUEUE_RETRY_SECONDS)
    named = priority_class_of(view.observed.job)
    hold = _unread(view, named, "have it created, or name another") if named else None
    return hold or _hold("waiting for its Workload to be created", "nothing")


def _unread(view: View, named: Child, next_step: str) -> Hold | None:
    """A hold if this object does not exist or the operator has no right to read it, else None."""
    found = view.observed.unwatched_objects.get(named)
    if found:
        return None
    if found is None:
        return _hold(f"there is no {named[0]} {named[1]}", next_step, QUEUE_RETRY_SECONDS)
    cause = f"the operator has no right to get {named[0]} {named[1]}"
    return _hold(cause, GRANT, QUEUE_RETRY_SECONDS, Reason.QUEUE_UNAVAILABLE)


def _queued(workload: Raw) -> Hold:
    """The hold with Kueue's own reason and message, and the next step."""
    told = condition_named(workload, "Admitted" if has_quota(workload) else "QuotaReserved")
    reason = told.get("reason") or "Unseen"
    cause = f"{reason}: {told.get('message') or 'Kueue has not decided yet'}"
    if (workload.get("spec") or {}).get("active") is False:
        return _hold(f"its Workload is inactive; {cause}", INACTIVE)
    return _hold(cause, KUEUE[reason].clause if reason in KUEUE else UNSEEN)
