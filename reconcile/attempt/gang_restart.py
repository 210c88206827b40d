"""Responds to failures: restarts all pods of the job, replaces a worker, or ends the job."""

from reconcile.attempt.elastic import find_elastic_move
from reconcile.attempt.restart import answer_incident
from reconcile.failure.incident import find_incident, note_failure, seconds_to_verdict
from reconcile.model.hold import Hold, Stop
from reconcile.model.move import Move
from reconcile.model.view import View


def answer_failures(view: View) -> Move | Hold | None:
    """Respond to pods that failed, vanished or moved, or wait for a log that has the cause."""
    if view.job.spec.is_elastic and not view.is_adopted:
        return find_elastic_move(view)
    incident = find_incident(view)
    if incident is not None:
        return answer_incident(view, incident)
    left = seconds_to_verdict(view)
    return Hold(seconds=left, stops=Stop.CHANGES, note=note_failure(view)) if left else None
