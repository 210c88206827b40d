"""Which refusals still matter, and what the job says of them.

After a write of a child was refused, its job can be scaled down, suspended or restarted, or end. A
job that then no longer needs the write must neither wait for it nor report such a wait.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from http import HTTPStatus

from api.catalogue.reasons import REASONS
from api.constants import (
    LABEL_JOB_NAME,
    LABEL_JOB_UID,
    TERMINAL_PHASES,
    Condition,
    Intranet,
    Reason,
)
from api.objects import name_of
from reconcile.attempt.adoption import take_over
from reconcile.children.cleanup import wanted_deletes
from reconcile.children.terminating import force_deletes
from reconcile.children.wake import wake_patches
from reconcile.children.workload import (
    finish_patches,
    job_deletes,
    workload_creates,
    workload_deletes,
    workload_patches,
)
from reconcile.model.hold import Hold, and_more
from reconcile.model.plan import ALTERED, FORMER_JOB, OWNERLESS, YOUNG_KIND, Patch, Plan, Refusal
from reconcile.model.view import View
from reconcile.objects.gang import find_gang, own_pod_group_patches

FILLED_IN = (
    "the template does not say this, a LimitRange or a webhook of the namespace does (kubectl get "
    "limitranges): set requests and limits in the template, or have that corrected; the operator "
    "retries by itself"
)
Names = dict[str, AbstractSet[str]]
"""The names of children, by their kind."""


def drop_moot(view: View) -> View:
    """The view with refusals of wanted writes only; those of patches, which stop nothing, last."""
    if not view.observed.refusals:
        return view
    lacking = lacking_children(view)
    deletes = wanted_deletes(view) + workload_deletes(view) + force_deletes(view)
    leaving = {delete.target.child for delete in deletes + job_deletes(view)}
    changing = {patch.target.child for patch in wanted_patches(view)}

    def stands(refusal: Refusal) -> bool:
        if refusal.is_delete or refusal.is_patch:
            return refusal.child in (leaving if refusal.is_delete else changing)
        return refusal.name in lacking.get(refusal.kind, ())

    standing = tuple(sorted(filter(stands, view.observed.refusals), key=lambda r: r.is_patch))
    return replace(view, observed=replace(view.observed, refusals=standing))


def without_refused(view: View, plan: Plan) -> Plan:
    """The plan without changes and deletes that were refused just now."""
    if not view.pause_seconds:
        return plan
    refused = {each.child for each in view.observed.refusals}
    return replace(
        plan,
        deletes=tuple(each for each in plan.deletes if each.target.child not in refused),
        patches=tuple(each for each in plan.patches if each.target.child not in refused),
        is_paused=True,
    )


def is_over_quota(refusal: Refusal) -> bool:
    """Whether the API server's message says that a ResourceQuota refuses the child."""
    return "exceeded quota" in refusal.message


def lacking_children(view: View) -> Names:
    """Children still to be created; none while pods of an earlier attempt exist."""
    has_ended = view.job.status.phase in TERMINAL_PHASES
    if has_ended or view.job.status.is_true(Condition.SUSPENDED) or view.previous_pods:
        return {}
    lacking: Names = {"Pod": frozenset(view.lacking)}
    if view.job.spec.intranet is Intranet.SERVICE:
        lacking["Service"] = view.wanted.keys() - {name_of(each) for each in view.observed.services}
    if view.config_map is None:
        lacking["ConfigMap"] = {view.config_map_name}
    gang = find_gang(view)
    if gang and not (gang.is_users or gang.exists):
        lacking["PodGroup"] = {gang.name}
    lacking["Workload"] = {create.name for create in workload_creates(view)}
    return lacking


def explain_refusals(view: View, refusals: Sequence[Refusal]) -> Hold:
    """A hold that explains the first of these refusals and counts the others."""
    return replace(_explain(view, refusals[0]), more=and_more(len(refusals) - 1))


def wanted_patches(view: View) -> tuple[Patch, ...]:
    """The patches that the job wants now. Plans take them from here alone, or refusals get lost."""
    status = view.job.status
    if view.job.is_deleting:
        return ()
    if status.is_terminal:
        return finish_patches(view)
    if view.is_inherited and view.job.is_ours:
        return take_over(view).patches
    patches = workload_patches(view)
    if not view.job.is_ours or status.is_true(Condition.SUSPENDED) or view.is_adopted:
        return patches
    gang = find_gang(view)
    return patches + wake_patches(view) + (own_pod_group_patches(view, gang) if gang else ())


def _explain(view: View, refusal: Refusal) -> Hold:
    child, cause = f"{refusal.kind} {refusal.name}", refusal_cause(refusal)
    if refusal.reason == FORMER_JOB:
        cause = f"{child} of a former job of this name is still there"
        return Hold(Reason.PODS_TERMINATING, cause, "the job goes on once it is gone")
    if refusal.reason == YOUNG_KIND:
        cause = f"the API server does not let a PaddleJob own {child} yet"
        next_step = "nothing, the API server looks for new kinds every 30 s"
        return Hold(Reason.WAITING_FOR_PODS, cause, next_step)
    if refusal.reason == OWNERLESS:
        cause = f"{child} of a former job of this name has no owner, as after a restore"
        selector = f"{LABEL_JOB_NAME}={view.job.name},{LABEL_JOB_UID}={refusal.message}"
        next_step = f"kubectl delete pods,svc,cm -l {selector}"
        return Hold(Reason.NAME_CONFLICT, cause, next_step, warns=True)
    if refusal.reason == "AlreadyExists":
        cause = f"{child} exists and does not belong to this job; it is left untouched"
        next_step = "delete it, or give the job another name"
        return Hold(Reason.NAME_CONFLICT, cause, next_step, warns=True)
    if is_over_quota(refusal):
        reason, cause = Reason.QUOTA_EXCEEDED, f"quota exceeded: {refusal.message}"
    elif refusal.is_delete:
        reason = Reason.DELETE_REFUSED
    elif refusal.is_patch:
        reason = Reason.PATCH_REFUSED
    else:
        reason = Reason.CREATE_REFUSED if _is_answered(refusal) else Reason.CREATE_UNANSWERED
    next_step = FILLED_IN if _is_filled_in(refusal) else REASONS[reason].clause
    return Hold(reason, cause, next_step, warns=True)


def _is_answered(refusal: Refusal) -> bool:
    """Whether somebody has decided against the write, rather than the API server failed at it.

    It answers with 500 where a webhook that it must ask does not answer, or not in time.
    """
    return 0 < refusal.code < HTTPStatus.TOO_MANY_REQUESTS or refusal.reason == ALTERED


def _is_filled_in(refusal: Refusal) -> bool:
    """Whether a value is invalid that the template does not have: admission has put it in."""
    is_invalid = refusal.code == HTTPStatus.UNPROCESSABLE_ENTITY and refusal.reason == "Invalid"
    is_create = not (refusal.is_patch or refusal.is_delete)
    return is_invalid and is_create and not refusal.is_final


def refusal_cause(refusal: Refusal) -> str:
    """What was refused, and why, in the API server's words."""
    verb = "deleted" if refusal.is_delete else "changed" if refusal.is_patch else ""
    what = f"cannot be {verb}: " if verb else ""
    return f"{refusal.kind} {refusal.name}: {what}{refusal.message}"
