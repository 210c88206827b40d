"""Time without training: from the end of an attempt until all pods of a later one run.

Status stores since when and why. The loss is counted once, with the status write that clears this:
when all pods run again, or when the job ends or is suspended before that.
"""

from dataclasses import replace

from api.constants import ATTEMPT_ENDS
from api.objects import format_time, parse_time
from api.status import JobStatus
from api.trainer import count_accelerators
from reconcile.failure.incident import Incident, end_time
from reconcile.model.plan import Outcome
from reconcile.model.view import View


def note_loss(view: View, status: JobStatus, incident: Incident) -> JobStatus:
    """Note in status when training stopped, unless an earlier stop is noted already."""
    if status.lost_since or not view.has_started:
        return status
    now, pod = format_time(view.now), incident.pod
    ended = end_time(pod) if pod and pod.end and not pod.is_deleting else ""
    ended = incident.record.time if incident.record else ended
    since = min(ended or now, now)  # a node's clock may be ahead
    return replace(status, lost_since=since, lost_reason=str(incident.reason))


def forget_loss(status: JobStatus) -> JobStatus:
    """Clear the note of a job that trains again, or will not train any more."""
    return replace(status, lost_since="", lost_reason="")


def count_loss(view: View, status: JobStatus) -> tuple[Outcome, ...]:
    """The lost time, if this status clears the note in the stored one."""
    old = view.job.status
    since = parse_time(old.lost_since)
    if since is None or status.lost_since or old.lost_reason not in ATTEMPT_ENDS:
        return ()
    seconds = max(0.0, (view.now - since).total_seconds())
    gpus = count_gpus(view)
    return (Outcome("lost", view.job.spec.mode, old.lost_reason, seconds, gpus),)


def count_gpus(view: View) -> int:
    """The accelerators that the job's pods ask for, together."""
    return sum(
        role.replicas * count_accelerators(container, view.settings.accelerators)
        for role in view.job.spec.roles.values()
        for container in role.pod_spec.get("containers") or ()
    )
