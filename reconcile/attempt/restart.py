"""Restarts of all pods: a new attempt of the job, after a back-off."""

from dataclasses import replace
from datetime import timedelta

from api.constants import Condition, Phase, Reason
from api.objects import parse_time
from api.status import MAX_AVOID_NODES, JobStatus, RoleStatus
from reconcile.failure.blame import is_of_hardware
from reconcile.failure.incident import Incident, build_failure, forget_noted
from reconcile.failure.loss import note_loss
from reconcile.model.move import Move, end_conditions, fail_job, set_condition
from reconcile.model.plan import EmitEvent, Outcome
from reconcile.model.view import View
from reconcile.objects.kept_log import keep_log

SECOND_DELAY_SECONDS = 10.0
MAX_DELAY_SECONDS = 360.0
"""The first restart comes at once, the next ones after 10 s, doubling to 6 min.

batch/v1 doubles from 10 s, too, but already waits before the first retry, and up to 10 min.
"""
MAX_FRUITLESS_RESTARTS = 100
"""The most restarts in a row that do not count against backoffLimit: 9.5 hours of back-offs."""
USEFUL_SECONDS = 60.0
"""An attempt that ran for this long has perhaps made progress."""
STABLE_SECONDS = 600.0
"""After an attempt that ran for this long, the next restart comes at once again."""


def answer_incident(view: View, incident: Incident) -> Move:
    """The transition that an incident leads to: the end of the job, or its next attempt."""
    recorded = with_record(view, forget_noted(view), incident)
    if incident.is_fatal:
        return _fail(view, recorded, incident, incident.reason)
    if incident.is_charged:
        limit = view.job.spec.backoff_limit or 0
        if recorded.failure_count >= limit:
            reason = Reason.BACKOFF_LIMIT_EXCEEDED if limit else incident.reason
            return _fail(view, recorded, incident, reason)
        recorded = replace(recorded, failure_count=recorded.failure_count + 1)
    fruitless = fruitless_restarts(view)
    if not incident.is_charged and fruitless >= MAX_FRUITLESS_RESTARTS:
        times = f"restarted {fruitless} times and has not run for a minute since"
        incident = replace(incident, message=f"{times}; now {incident.message}")
        return _fail(view, recorded, incident, Reason.RESTART_LOOP)
    recorded = replace(recorded, fruitless_restarts=fruitless + (not incident.is_charged))
    return replace(
        begin_attempt(view, recorded, incident), keep_log=keep_log(view, incident.telling)
    )


def with_record(view: View, status: JobStatus, incident: Incident) -> JobStatus:
    """The status with a record of the incident, and with its node among those to avoid.

    What followed it comes before it, so that the last record is that of what ended the attempt.
    """
    if incident.followed:
        status = with_record(view, status, incident.followed)
    avoided = replace(status, avoid_nodes=_avoid(status, incident))
    return avoided.with_failure(build_failure(view, incident))


def begin_attempt(view: View, status: JobStatus, incident: Incident) -> Move:
    """Begin the next attempt. All older pods become obsolete, because they have an older number."""
    status = note_loss(view, status, incident)
    # Restarting also ends, because an incident during a back-off starts a back-off of its own.
    ended = (Condition.RUNNING, Condition.PODS_SCHEDULED, Condition.RESTARTING)
    status = end_conditions(status, view.now, *ended)
    status = set_condition(
        status, Condition.RESTARTING, True, incident.reason, incident.message, view.now
    )
    status = with_attempt(view, status, view.attempt + 1)
    status = replace(status, phase=Phase.RESTARTING, quick_restarts=quick_restarts(view) + 1)
    event = EmitEvent("Warning", incident.reason, incident.message)
    outcome = Outcome("restarted", view.job.spec.mode, incident.reason)
    return Move(status, (event,), (outcome,), incident.verify_gone)


def with_attempt(view: View, status: JobStatus, attempt: int) -> JobStatus:
    """The status at the beginning of this attempt, without pods and ports. It counts the restarts.

    With spec.resume, the status stores the last checkpoint's step: all programs resume from it.
    """
    roles = {role: RoleStatus(replicas=counts.replicas) for role, counts in status.roles.items()}
    status = end_conditions(status, view.now, Condition.LOSS_NOT_FINITE)
    count = status.restart_count + attempt - view.attempt
    status = replace(status, attempt=attempt, restart_count=count, given_back_at="")
    saved = status.progress.checkpoint.step if view.job.spec.resume else None
    return replace(status, host_ports={}, roles=roles, resume_step=saved or 0)


def restart_delay(restarts: int) -> float:
    """The back-off before the attempt that follows this many restarts in a row, in seconds."""
    if restarts <= 1:
        return 0.0
    return min(SECOND_DELAY_SECONDS * 2.0 ** min(restarts - 2, 30), MAX_DELAY_SECONDS)


def quick_restarts(view: View) -> int:
    """The number of restarts in a row; 0 if the attempt has run for STABLE_SECONDS."""
    return 0 if _has_run_for(view, STABLE_SECONDS) else view.job.status.quick_restarts


def fruitless_restarts(view: View) -> int:
    """Restarts in a row that did not count against backoffLimit; 0 after a run of USEFUL_SECONDS.

    An elastic job trains with the workers that it has, so for this job, one worker's run is enough.
    """
    starts = (pod.started_at for pod in view.pods.values() if view.job.spec.is_elastic)
    useful = timedelta(seconds=USEFUL_SECONDS)
    has_run = _has_run_for(view, USEFUL_SECONDS)
    has_run |= any(start and view.now - start >= useful for start in starts)
    return 0 if has_run else view.job.status.fruitless_restarts


def _has_run_for(view: View, seconds: float) -> bool:
    running = view.job.status.true_condition(Condition.RUNNING)
    since = parse_time(running.last_transition_time) if running else None
    return since is not None and (view.now - since).total_seconds() >= seconds


def _fail(view: View, status: JobStatus, incident: Incident, reason: Reason) -> Move:
    move = fail_job(view, reason, incident.message, status)
    return replace(
        move, verify_gone=incident.verify_gone, keep_log=keep_log(view, incident.telling)
    )


def _avoid(status: JobStatus, incident: Incident) -> tuple[str, ...]:
    """The nodes to avoid, the latest last: lost nodes, and those where pods failed or were evicted.

    A node with a faulty device is always added, even if a rule ignores the failure.
    """
    node = incident.node
    blames_node = incident.reason in (Reason.POD_EVICTED, Reason.NODE_LOST, Reason.POD_FAILED)
    blames_node |= incident.pod is not None and is_of_hardware(incident.pod)
    if not node or not blames_node:
        return status.avoid_nodes
    kept = tuple(name for name in status.avoid_nodes if name != node)
    return (*kept, node)[-MAX_AVOID_NODES:]
