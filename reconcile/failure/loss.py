"""Time without training: from what ended an attempt until all pods of a later one run.

Status remembers since when and why. It counts once, with the status write that forgets it: when all
pods run again, or when the job ends or is suspended before.
"""

import re
from dataclasses import replace

from api.constants import ATTEMPT_ENDS
from api.objects import Raw, format_time, parse_time
from api.status import JobStatus
from reconcile.failure.incident import Incident, end_time
from reconcile.model.plan import Outcome
from reconcile.model.view import View

GPU_SUFFIX = "/gpu"
"""nvidia.com/gpu, amd.com/gpu: extended resources, whose quantities are whole numbers."""
_AMOUNT = re.compile("[0-9]{1,4}")
"""A quantity may have any number of digits, and no node as many GPUs."""


def note_loss(view: View, status: JobStatus, incident: Incident) -> JobStatus:
    """The status with the end of training noted, if this is it: else it was lost before."""
    if status.lost_since or not view.has_started:
        return status
    now, pod = format_time(view.now), incident.pod
    ended = end_time(pod) if pod and pod.end and not pod.is_deleting else ""
    ended = incident.record.time if incident.record else ended
    since = min(ended or now, now)  # a node's clock may be ahead
    return replace(status, lost_since=since, lost_reason=str(incident.reason))


def forget_loss(status: JobStatus) -> JobStatus:
    """The status of a job that trains again, or is not to train any more."""
    return replace(status, lost_since="", lost_reason="")


def count_loss(view: View, status: JobStatus) -> tuple[Outcome, ...]:
    """What was lost, if the step from the stored status to this one forgets it."""
    old = view.job.status
    since = parse_time(old.lost_since)
    if since is None or status.lost_since or old.lost_reason not in ATTEMPT_ENDS:
        return ()
    seconds = max(0.0, (view.now - since).total_seconds())
    gpus = count_gpus(view)
    return (Outcome("lost", view.job.spec.mode, old.lost_reason, seconds, gpus),)


def count_gpus(view: View) -> int:
    """The GPUs that the job's pods ask for, together."""
    roles = view.job.spec.roles.values()
    return sum(role.replicas * _gpus_of(role.pod_spec) for role in roles)


def _gpus_of(pod_spec: Raw) -> int:
    found = 0
    for container in pod_spec.get("containers") or ():
        resources: Raw = container.get("resources") or {}
        # An extended resource that has a limit alone is requested as well.
        wanted: Raw = (resources.get("limits") or {}) | (resources.get("requests") or {})
        amounts = (str(amount) for name, amount in wanted.items() if name.endswith(GPU_SUFFIX))
        found += sum(int(amount) for amount in amounts if _AMOUNT.fullmatch(amount))
    return found
