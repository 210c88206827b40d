"""Replaces only the failed worker of an elastic job, as long as enough of its peers are alive."""

from api.constants import Role
from api.objects import parse_time
from api.status import MAX_FAILURES, Failure
from reconcile.attempt.completion import find_untrained
from reconcile.attempt.restart import (
    SECOND_DELAY_SECONDS,
    answer_incident,
    restart_delay,
    with_record,
)
from reconcile.failure.incident import (
    describe,
    ended_pods,
    judge_pod,
    name_culprit,
    peer_loss,
    record_time,
)
from reconcile.model.move import Move
from reconcile.model.plan import EmitEvent
from reconcile.model.pods import PodView
from reconcile.model.view import View


def find_elastic_move(view: View) -> Move | None:
    """The response to a worker that failed or exited without training, or None."""
    untrained = find_untrained(view)
    if untrained is not None:
        return answer_incident(view, untrained)
    failed = [pod for pod in ended_pods(view) if not pod.is_deleting]
    # The recorded pods are deleted first. Status keeps few records; if it dropped the record of a
    # pod that still exists, the same failure would be recorded again.
    if not failed or any(is_recorded(view, pod) for pod in failed):
        return None
    return _answer_failures(view, failed)


def is_recorded(view: View, pod: PodView) -> bool:
    """Whether status has a record of this pod's failure; if so, the pod can be deleted."""
    record = (pod.name, record_time(view, pod))
    return any((each.pod, each.time) == record for each in view.job.status.failures)


def replacement_delay(view: View, name: str) -> float:
    """Seconds until a worker that failed can be created again; 0 after its first failure.

    Status keeps few records, so if many workers fail, this worker's record is perhaps gone. While
    status is full, no worker is created until the oldest record is 10 s old.
    """
    records = [f for f in view.job.status.failures if f.attempt == view.attempt]
    ends = [f for f in records if f.pod == name]
    own = _seconds_left(view, ends[-1], restart_delay(len(ends))) if ends else 0.0
    if len(records) < MAX_FAILURES:
        return own
    return max(own, _seconds_left(view, records[0], SECOND_DELAY_SECONDS))


def _seconds_left(view: View, failure: Failure, delay: float) -> float:
    """Seconds left of a delay that started at a failure."""
    since = parse_time(failure.time)
    return max(0.0, delay - (view.now - since).total_seconds()) if since else 0.0


def _answer_failures(view: View, failed: list[PodView]) -> Move:
    """Record the failures, so that pods are replaced; if too few workers live, end the attempt."""
    incidents = [judge_pod(view, pod) for pod in failed]
    fatal = next((incident for incident in incidents if incident.is_fatal), None)
    live = sum(peer.is_live for peer in view.of_role(Role.WORKER))
    trained = len(view.completed[Role.WORKER])
    if fatal:
        return answer_incident(view, describe(view, fatal))
    if live + trained < view.job.spec.roles[Role.WORKER].least:
        return answer_incident(view, peer_loss(view, failed) or name_culprit(view, incidents))
    status = view.job.status
    recorded = [describe(view, incident) for incident in incidents[:MAX_FAILURES]]
    for incident in recorded:
        status = with_record(view, status, incident)
    events = (EmitEvent("Warning", incident.reason, incident.message) for incident in recorded)
    return Move(status, tuple(events))
