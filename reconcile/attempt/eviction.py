"""Ends the attempt of a job that has lost its quota; the next attempt waits in the queue."""

from dataclasses import replace

from api.constants import Reason
from api.objects import Raw, condition_named
from reconcile.attempt.restart import begin_attempt, quick_restarts
from reconcile.failure.incident import Incident
from reconcile.failure.loss import forget_loss
from reconcile.model.move import Move
from reconcile.model.view import View
from reconcile.model.workload import is_admitted, is_set


def end_evicted(view: View) -> Move:
    """Begin the next attempt, without a back-off and not counted against backoffLimit.

    Time in the queue is not lost time, and deadlines start again from zero, as after spec.suspend.
    """
    incident = Incident(Reason.EVICTED, f"Evicted: {_why(view.workload)}", is_charged=False)
    move = begin_attempt(view, view.job.status, incident)
    status = replace(forget_loss(move.status), quick_restarts=quick_restarts(view), start_time="")
    return replace(move, status=status)


def _why(workload: Raw | None) -> str:
    """Why the job has lost its quota: Kueue's reason and message, else our own."""
    if workload is None:
        return "WorkloadDeleted: its Workload is gone, so it has no quota"
    if is_set(workload, "Finished"):
        return "WorkloadFinished: its Workload is finished, so it has no quota"
    told = condition_named(workload, "Evicted")
    if told.get("status") == "True":
        return f"{told.get('reason')}: {told.get('message')}"
    if is_admitted(workload):
        return "JobChanged: its quota is for other pods than those that it wants now"
    return "NotAdmitted: its Workload is not admitted"
