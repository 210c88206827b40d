"""A policy's answer when it moves the job to another state: the status to write first. The next
pass acts on it.

Because the status is written first, an incident counts only once, even if the operator crashes:
the next pass sees that the old pods do not belong to the attempt in status.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from api.constants import Condition, Phase, Reason
from api.objects import format_time
from api.status import Failure, JobStatus, new_condition
from reconcile.model.hold import MAX_CAUSE_CHARACTERS, Hold
from reconcile.model.plan import EmitEvent, KeepLog, Outcome
from reconcile.model.view import View


@dataclass(frozen=True, slots=True)
class Move:
    """The new status, and the Events and metrics to report after it is written.

    `hold` is what the policy itself then has the job wait for; policies that are asked after it can
    add theirs. `verify_gone` and `keep_log` are as in `Plan`.
    """

    status: JobStatus
    events: tuple[EmitEvent, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    verify_gone: tuple[str, ...] = ()
    keep_log: KeepLog | None = None
    hold: Hold | None = None


def set_condition(
    status: JobStatus, type_: Condition, value: bool, reason: Reason, message: str, now: datetime
) -> JobStatus:
    """The status with a condition set as of now."""
    return status.with_condition(new_condition(type_, value, reason, message, now))


def end_conditions(status: JobStatus, now: datetime, *types: Condition) -> JobStatus:
    """The status with each of these conditions set to false if it was true."""
    for type_ in types:
        if status.is_true(type_):
            status = set_condition(status, type_, False, Reason.ENDED, "", now)
    return status


def complete_job(view: View, message: str, reason: Reason = Reason.WORKERS_SUCCEEDED) -> Move:
    """The move that completes the job."""
    return _end_job(view, view.job.status, Phase.COMPLETED, reason, message)


def fail_job(view: View, reason: Reason, message: str, status: JobStatus | None = None) -> Move:
    """The move that fails the job, based on `status` or else on the stored status."""
    return _end_job(view, status or view.job.status, Phase.FAILED, reason, message)


def fail_with_record(view: View, reason: Reason, message: str, pod: str, node: str = "") -> Move:
    """The move that fails the job because of a child. The record names the child if it is a pod."""
    message = message[:MAX_CAUSE_CHARACTERS]
    record = build_record(view, reason, message, pod, node)
    return fail_job(view, reason, message, view.job.status.with_failure(record))


def build_record(view: View, reason: Reason, message: str, pod: str, node: str = "") -> Failure:
    """A failure record with the current time; it names the pod only if the job wants that pod."""
    role, index = view.wanted.get(pod, ("", 0))
    return Failure(
        attempt=view.attempt,
        pod=pod if role else "",
        role=str(role),
        index=index,
        node=node,
        reason=str(reason),
        message=message,
        time=format_time(view.now),
    )


def _end_job(view: View, status: JobStatus, phase: Phase, reason: Reason, message: str) -> Move:
    ended = (Condition.PENDING, Condition.RUNNING, Condition.RESTARTING, Condition.SUSPENDED)
    status = end_conditions(status, view.now, *ended)
    failed = phase is Phase.FAILED
    condition = Condition.FAILED if failed else Condition.COMPLETED
    status = set_condition(status, condition, True, reason, message, view.now)
    how = Reason.FAILED if failed else Reason.COMPLETED
    status = set_condition(status, Condition.FINISHED, True, how, "", view.now)
    ended_at = format_time(view.now)
    status = replace(status, phase=phase, completion_time=ended_at, lost_since="", lost_reason="")
    is_well = reason is Reason.WORKERS_SUCCEEDED
    event = EmitEvent("Normal" if is_well else "Warning", reason, message)
    outcome = Outcome(phase.lower(), view.job.spec.mode, reason, view.age_seconds)
    return Move(status, (event,), (outcome,))
