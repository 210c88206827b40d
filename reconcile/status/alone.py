"""The condition TrainedAlone: a job has several workers, but each has trained by itself.

The operator knows this only if worker 0's termination message contains the launcher's lines;
`kubectl pdj` reads the log. The condition is about the latest attempt that has run: it ends when
the next attempt runs, and is set again if that attempt trains alone, too. Where the pods' addresses
mislead any launcher, it is set before programs start.
"""

from api.constants import Condition, Reason, Role
from api.status import JobStatus
from reconcile.model.move import end_conditions, set_condition
from reconcile.model.view import View
from reconcile.objects.rendezvous import ENDPOINT_LISTS
from reconcile.words.alone import IPV6, counts_one_node, describe_alone


def note_alone(view: View, status: JobStatus) -> JobStatus:
    """The status with the condition as worker 0's pods show it; unchanged if no pod shows it."""
    said = _explain(view)
    if said is None or bool(said) == status.is_true(Condition.TRAINED_ALONE):
        return status
    if not said:
        return end_conditions(status, view.now, Condition.TRAINED_ALONE)
    return set_condition(
        status, Condition.TRAINED_ALONE, True, Reason.TRAINED_ALONE, said, view.now
    )


def _explain(view: View) -> str | None:
    """Why the latest attempt that has run trained alone; empty if not, None if no pod shows it."""
    if not view.job.spec.has_workers_only or view.job.spec.total_replicas < 2:
        return ""
    if counts_one_node(view.published.get(ENDPOINT_LISTS[Role.WORKER], [])):
        return IPV6
    firsts = (p for p in view.all_pods if (p.role, p.index) == (Role.WORKER, 0))
    shown = [pod for pod in firsts if pod.end or view.all_run]
    if not shown:
        return None
    latest = max(shown, key=lambda pod: pod.attempt)
    if latest.end and latest.end.is_alone:
        return describe_alone(view.job)
    return None if latest.restarts else ""  # a restart in place is no new attempt
