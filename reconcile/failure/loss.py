"""Time without training: from the end of an attempt until all pods of a later one run.

If a checkpoint is known, the time begins at the last one, or at the attempt's start if that is
later, because the steps since then are trained again. If the training had stalled, it begins at the
last step. Status stores when it began, and why. The loss is counted once, with the status write
that clears these fields: when all pods run again, when a stalled training goes on, or when the job
ends or is suspended.
"""

import math
from dataclasses import replace
from datetime import datetime

from api.constants import ATTEMPT_ENDS, Condition, Reason
from api.objects import changed, format_time, parse_time
from api.status import JobStatus
from api.trainer import count_accelerators
from reconcile.failure.incident import Incident
from reconcile.model.plan import Outcome
from reconcile.model.view import View

SHARE_SECONDS = 60.0
"""A job younger than this has no trained share."""
SILENCE_SECONDS = 300.0
"""A log that has been silent for longer shows no training, unless it has announced a pause."""


def note_loss(view: View, status: JobStatus, incident: Incident) -> JobStatus:
    """The status with the time when training stopped; unchanged if no program had started."""
    if not view.has_started:
        return status
    now, pod = format_time(view.now), incident.pod
    ended = format_time(pod.end.finished_at if pod and pod.end and not pod.is_deleting else None)
    ended = incident.record.time if incident.record else ended
    since = min(ended or now, now)  # a node's clock may be ahead
    return note_stop(status, min(since, _saved_until(view) or since), incident.reason)


def note_stop(status: JobStatus, since: str, reason: Reason) -> JobStatus:
    """The status with a note that nothing has trained since this time.

    If status has a time already, the earlier one counts, with the reason that was noted first.
    """
    if status.lost_since:
        return replace(status, lost_since=min(since, status.lost_since))
    return replace(status, lost_since=since, lost_reason=str(reason))


def _saved_until(view: View) -> str:
    """The time of the last checkpoint, or of the attempt's start if that is later.

    Empty without a checkpoint, and if the job does not run.
    """
    saved = view.job.status.progress.checkpoint.time
    running = view.job.status.true_condition(Condition.RUNNING)
    return max(saved, running.last_transition_time) if saved and running else ""


def forget_loss(status: JobStatus) -> JobStatus:
    """The status without the stop, because the job trains again or was stopped on purpose."""
    return changed(status, lost_since="", lost_reason="")


def count_loss(view: View, status: JobStatus) -> tuple[Outcome, ...]:
    """The outcome for metrics with the lost time, if this status clears the stored stop."""
    old = view.job.status
    since = parse_time(old.lost_since)
    if since is None or status.lost_since or old.lost_reason not in ATTEMPT_ENDS:
        return ()
    seconds = max(0.0, (view.now - since).total_seconds())
    return (Outcome("lost", view.job.spec.mode, old.lost_reason, seconds, count_gpus(view)),)


def add_loss(view: View, status: JobStatus) -> JobStatus:
    """Add to the lost seconds what this status ends: a loss, or the wait for the first run.

    `kubectl pdj status` shows the share of the time in which the job has trained.
    """
    old = view.job.status
    if status.is_true(Condition.RUNNING) and not old.has_run and not view.is_inherited:
        since = parse_time(status.start_time)
    else:
        since = None if status.lost_since else parse_time(old.lost_since)
    if since is None:
        return status
    seconds = math.ceil((view.now - since).total_seconds())
    return replace(status, lost_seconds=status.lost_seconds + max(0, seconds))


def trained_share(
    status: JobStatus, now: datetime, last_output: datetime | None = None
) -> float | None:
    """The share of the time since the job's start in which it trained and kept its work.

    `last_output` is the time of the log's last line, if it is known better than in the status. None
    if the log has no step, or for a job younger than a minute.
    """
    start, end = parse_time(status.start_time), parse_time(status.completion_time) or now
    if start is None or status.progress.step is None:
        return None
    seconds, stopped = (end - start).total_seconds(), parse_time(status.lost_since)
    lost = (end - stopped).total_seconds() if stopped else 0.0
    last, quiet = (
        parse_time(status.progress.last_output_time),
        parse_time(status.progress.quiet_until),
    )
    silent = (end - max(filter(None, (last, last_output, quiet)), default=end)).total_seconds()
    lost = status.lost_seconds + max(lost, silent if silent > SILENCE_SECONDS else 0.0)
    return None if seconds < SHARE_SECONDS else min(1.0, max(0.0, 1.0 - lost / seconds))


def count_gpus(view: View) -> int:
    """The number of accelerators that all pods of the job ask for together."""
    return sum(
        role.replicas * count_accelerators(container, view.settings.accelerators)
        for role in view.job.spec.roles.values()
        for container in role.pod_spec.get("containers") or ()
    )
