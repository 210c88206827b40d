"""The condition TrainedAlone: a job has several workers, but each has trained by itself.

The operator reads no logs. It detects this if worker 0's termination message contains the
launcher's lines; `kubectl pdj` reads the log.
"""

from api.constants import Condition, Reason, Role
from api.status import JobStatus
from reconcile.model.move import set_condition
from reconcile.model.view import View
from reconcile.words.alone import describe_alone


def note_alone(view: View, status: JobStatus) -> JobStatus:
    """The status with the condition, once worker 0 has said so, in this attempt or the last."""
    spec = view.job.spec
    if not spec.has_workers_only or spec.total_replicas < 2:
        return status
    firsts = (p for p in view.all_pods if (p.role, p.index) == (Role.WORKER, 0))
    if status.is_true(Condition.TRAINED_ALONE) or not any(
        pod.end and pod.end.is_alone for pod in firsts
    ):
        return status
    reason, message = Reason.TRAINED_ALONE, describe_alone(view.job)
    return set_condition(status, Condition.TRAINED_ALONE, True, reason, message, view.now)
