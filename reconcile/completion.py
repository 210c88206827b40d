"""When a job has its result: its workers have ended well. Servers never end by themselves."""

from datetime import datetime

from api.constants import Reason, Role
from reconcile.failure import Incident
from reconcile.pods import PodState, PodView
from reconcile.transition import Transition, complete_job
from reconcile.view import View


def find_completion(view: View) -> Transition | None:
    """The end of a job whose every worker has ended well, or None."""
    worker = view.job.spec.roles.get(Role.WORKER)
    if worker is None or len(view.completed[Role.WORKER]) < worker.replicas:
        return None
    return complete_job(view, _message(worker.replicas))


def find_elastic_completion(view: View) -> Transition | None:
    """The end of an elastic job: enough workers trained together and ended well, none trains."""
    ended = _succeeded(view)
    if not ended or any(pod.state is PodState.RUNNING for pod in view.pods.values()):
        return None
    least = view.job.spec.roles[Role.WORKER].least
    together = [pod for pod in ended if _overlaps(pod, _first_end(ended))]
    return complete_job(view, _message(len(ended))) if len(together) >= least else None


def find_untrained(view: View) -> Incident | None:
    """A launcher that exited 0 because its peers never came: an end without training.

    An elastic launcher that misses its least number of peers within its timeout leaves with 0.
    Whoever trained did so with at least that many; fewer that overlapped cannot have.
    """
    ended = _succeeded(view)
    if not ended:
        return None
    first = _first_end(ended)
    together = [pod for pod in view.pods.values() if _overlaps(pod, first)]
    least = view.job.spec.roles[Role.WORKER].least
    if len(together) >= least:
        return None
    message = (
        f"{ended[0].name} exited 0 while {len(together)} of at least {least} workers "
        "were there: it waited for its peers and did not train"
    )
    return Incident(Reason.ELASTIC_UNTRAINED, message, is_charged=False)


def _succeeded(view: View) -> list[PodView]:
    return [pod for pod in view.of_role(Role.WORKER) if pod.state is PodState.SUCCEEDED]


def _first_end(pods: list[PodView]) -> datetime | None:
    ends = [pod.end.finished_at for pod in pods if pod.end and pod.end.finished_at]
    return min(ends, default=None)


def _overlaps(pod: PodView, moment: datetime | None) -> bool:
    """Whether the pod's trainer ran at that moment; without times, whether it ran at all."""
    if not pod.has_started:
        return False
    return moment is None or pod.started_at is None or pod.started_at < moment


def _message(count: int) -> str:
    return f"{count} {'worker' if count == 1 else 'workers'} ended well"
