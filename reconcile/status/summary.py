"""The status that results from the children: counts, phase and conditions."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta

from api.constants import LABEL_JOB_UID, LABEL_ROLE, TERMINAL_PHASES, Condition, Phase, Reason, Role
from api.objects import Raw, changed, format_time
from api.status import NOT_WAITING, JobStatus, RoleStatus, dump_status, telling_conditions
from reconcile.attempt.restart_request import note_request
from reconcile.attempt.stalled import note_stall
from reconcile.failure.loss import forget_loss
from reconcile.model.hold import Hold, grace_since
from reconcile.model.indexes import format_indexes
from reconcile.model.move import end_conditions, set_condition
from reconcile.model.pods import PodState
from reconcile.model.view import View
from reconcile.objects.gang import find_gang
from reconcile.objects.workload import is_queued
from reconcile.status.alone import note_alone
from reconcile.status.not_finite import note_not_finite
from reconcile.status.training import note_progress

FIRST_STATUS_SECONDS = 30.0
"""A job's first status is deferred for at most this long, however many other jobs wait."""
_OF_POD_GROUP = frozenset(
    {Reason.POD_GROUP_UNAVAILABLE, Reason.POD_GROUP_INVALID, Reason.POD_GROUP_PENDING}
)


def summarize(view: View) -> JobStatus:
    """The status that follows from the children and from what the policies have answered."""
    hold = view.reported_hold
    status = note_not_finite(view, note_stall(view, note_alone(view, view.job.status)))
    status = note_request(view, _with_facts(view, status))
    if view.attempt > 1:
        status = end_conditions(status, view.now, Condition.ADOPTED)
    if view.job.is_deleting:
        status = _set_pending(view, changed(status, phase=Phase.TERMINATING), hold, Reason.ENDED)
        # The headline says what blocks the deletion, or stays as it was if nothing does.
        return status.with_headline(status.condition(Condition.PENDING)) if hold else status
    if _has_ended(view):
        return _set_pending(view, status, hold, Reason.ENDED)
    if status.phase in TERMINAL_PHASES or status.is_true(Condition.SUSPENDED):
        status = _set_pending(view, status, hold, Reason.ENDED)
    else:
        phase = _decide_phase(view)
        status = _with_conditions(view, changed(status, phase=phase), hold)
    status = note_progress(view, status)
    return status.with_headline(next(telling_conditions(status), None))


def tell_in_others(view: View) -> tuple[JobStatus, Raw | None]:
    """A status that another controller writes, with a Pending that says what is refused; its patch.

    Unchanged where it is a copy of the status in another cluster, as Kueue makes it.
    """
    status = view.job.status
    if view.job.is_ours or (view.job.is_sent_away and not status.phase):
        status = _set_pending(view, status, view.reported_hold, Reason.ENDED)
    if status.conditions == view.job.status.conditions:
        return view.job.status, None
    return status, {"status": {"conditions": dump_status(status)["conditions"]}}


def _with_facts(view: View, status: JobStatus) -> JobStatus:
    spec = view.job.spec
    counts = {role: _count_role(view, role) for role in spec.roles}
    workers = sum(pod.role is Role.WORKER for pod in view.all_pods)
    gang = find_gang(view)
    is_held = spec.suspend or status.is_true(Condition.SUSPENDED) or is_queued(view)
    return changed(
        status,
        mode=str(spec.mode),
        attempt=view.attempt,
        start_time=status.start_time or ("" if is_held else format_time(_first_look(view))),
        pod_group=gang.name if gang else "",
        selector=f"{LABEL_JOB_UID}={view.job.uid},{LABEL_ROLE}={Role.WORKER}",
        replicas=status.replicas if _has_ended(view) else workers,
        roles=counts,
    )


def _first_look(view: View) -> datetime:
    """Now; for a first status, which can be late, the later of the job's creation and 30 s ago."""
    if view.job.status.phase:
        return view.now
    return view.now - timedelta(seconds=max(0.0, min(view.age_seconds, FIRST_STATUS_SECONDS)))


def _count_role(view: View, role: Role) -> RoleStatus:
    """The counts of a role. After the job has ended, `failed` and `succeeded` stay as they were.

    Later counts would mislead, because the pods are deleted, and servers then exit with an error.
    """
    states = Counter(pod.state for pod in view.of_role(role))
    counts = RoleStatus(
        replicas=view.job.spec.roles[role].replicas,
        pending=states[PodState.PENDING],
        starting=states[PodState.STARTING],
        running=states[PodState.RUNNING],
        failed=states[PodState.FAILED],
        succeeded=len(view.completed[role]),
        unknown=states[PodState.UNKNOWN],
        completed_indexes=format_indexes(view.completed[role]),
    )
    if not _has_ended(view):
        return counts
    end = view.role_status(role)
    return replace(
        counts, failed=end.failed, succeeded=end.succeeded, completed_indexes=end.completed_indexes
    )


def _has_ended(view: View) -> bool:
    """Whether the job had already ended in the stored status, before this pass.

    Such a status is hardly changed, because an upgrade would otherwise rewrite all ended jobs.
    """
    return view.job.raw_status.get("phase") in TERMINAL_PHASES


def _decide_phase(view: View) -> Phase:
    waits_for_restart = view.job.status.is_true(Condition.RESTARTING) and not view.pods
    waits_for_restart &= not is_queued(view)
    if (view.previous_pods or waits_for_restart) and not view.job.status.given_back_at:
        return Phase.RESTARTING
    if view.all_run:
        return Phase.COMPLETING if view.completed.get(Role.WORKER) else Phase.RUNNING
    running = view.job.status.condition(Condition.RUNNING)  # a restart sets it to false
    ran = running is not None and (running.status or view.job.status.phase == Phase.SCALING)
    if view.job.spec.is_elastic and ran:
        return Phase.SCALING
    if view.is_placed:
        return Phase.STARTING
    return Phase.PENDING


def _with_conditions(view: View, status: JobStatus, hold: Hold | None) -> JobStatus:
    runs = status.phase in (Phase.RUNNING, Phase.COMPLETING)
    if runs:
        status = status if status.is_true(Condition.TRAINING_STALLED) else forget_loss(status)
        status = changed(status, given_back=0, given_back_at="")
    status = _set_pending(view, status, None if runs else hold, Reason.ALL_PODS_RUNNING)
    placed = view.is_placed
    where = Reason.ALL_PODS_SCHEDULED if placed else Reason.NOT_ALL_SCHEDULED
    status = set_condition(status, Condition.PODS_SCHEDULED, placed, where, "", view.now)
    reason, message = _explain_running(view) if runs else (Reason.NOT_ALL_RUNNING, "")
    since = view.now if runs else _first_look(view)  # a later time would mean that the job has run
    status = set_condition(status, Condition.RUNNING, runs, reason, message, since)
    if status.is_true(Condition.RESTARTING) and status.phase != Phase.RESTARTING:
        why = Reason.QUEUED if is_queued(view) else Reason.PODS_CREATED
        status = set_condition(status, Condition.RESTARTING, False, why, "", view.now)
    return status


def _explain_running(view: View) -> tuple[Reason, str]:
    """Why the job counts as running; what is refused, or has befallen its nodes or PodGroup."""
    for hold in reversed(view.holds):
        if hold.reason and (hold.warns or (hold.reason in _OF_POD_GROUP and hold.stops)):
            return hold.reason, hold.message
    return Reason.ALL_PODS_RUNNING, ""


def _set_pending(view: View, status: JobStatus, hold: Hold | None, over: Reason) -> JobStatus:
    """Set Pending for this hold; without one, set it to false for the reason `over`."""
    if hold is None or hold.reason is None:
        status = changed(status, waiting=NOT_WAITING)
        if status.is_true(Condition.PENDING):
            return set_condition(status, Condition.PENDING, False, over, "", view.now)
        return status
    if hold.keeps:
        return status
    if hold.grace and grace_since(status, hold.reason, hold.grace) is None:
        status = end_conditions(status, view.now, Condition.PENDING)  # the grace counts from now
    waiting = hold.waiting(status, view.now)
    status = set_condition(status, Condition.PENDING, True, hold.reason, hold.message, view.now)
    return changed(status, waiting=waiting)
