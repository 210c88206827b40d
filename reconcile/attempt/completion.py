"""Decides when a job is complete: all workers have succeeded, or enough workers of an elastic job.

Servers do not count, because they never exit by themselves.
"""

from datetime import datetime, timedelta

from api.constants import Reason, Role
from reconcile.failure.incident import Incident
from reconcile.model.hold import count
from reconcile.model.move import Move, complete_job
from reconcile.model.pods import PodState, PodView
from reconcile.model.view import View

JOIN_SECONDS = 60.0
"""A launcher that has run for this long has had time to import Paddle and to meet its peers."""


def find_completion(view: View) -> Move | None:
    """Complete the job if every worker has succeeded, else None."""
    if view.job.spec.is_elastic:
        return _end_elastic(view)
    worker = view.job.spec.roles.get(Role.WORKER)
    if worker is None or len(view.completed[Role.WORKER]) < worker.replicas:
        return None
    return complete_job(view, f"{count(worker.replicas, 'worker')} ended well")


def _end_elastic(view: View) -> Move | None:
    """Complete an elastic job if enough of the workers that trained together succeeded.

    The job waits for workers that still run, but not for a worker that started after another one
    had ended well, because such a worker trains alone.
    """
    ended = _succeeded(view)
    peers = _peers(view, ended)
    if not ended or any(pod.state is PodState.RUNNING for pod in peers):
        return None
    done = [pod for pod in peers if pod.state is PodState.SUCCEEDED]
    number = len(done) + len(_ended_and_gone(view))
    if number < view.job.spec.roles[Role.WORKER].least:
        return None
    return complete_job(view, f"{count(number, 'worker')} ended well")


def find_untrained(view: View) -> Incident | None:
    """The incident of a launcher that exited 0 without training, because it missed its peers.

    An elastic launcher exits 0 if it does not meet its least number of peers within its timeout. So
    if fewer workers than this number ran at the same time, none has trained. Otherwise None.
    """
    ended = _succeeded(view)
    if not ended:
        return None
    together = len(_peers(view, ended)) + len(_ended_and_gone(view))
    least = view.job.spec.roles[Role.WORKER].least
    if together >= least:
        return None
    message = (
        f"{ended[0].name} exited 0 without training: it waited for its peers, but "
        f"only {together} of at least {least} workers ran"
    )
    return Incident(Reason.ELASTIC_UNTRAINED, message, is_charged=False)


def _succeeded(view: View) -> list[PodView]:
    return [pod for pod in view.of_role(Role.WORKER) if pod.state is PodState.SUCCEEDED]


def _peers(view: View, ended: list[PodView]) -> list[PodView]:
    """Workers that ran when the first one ended well, except those too late to meet it."""
    ends = [pod.end.finished_at for pod in ended if pod.end and pod.end.finished_at]
    first = min(ends, default=None)
    timeout = timedelta(seconds=view.settings.elastic_timeout_seconds)
    ran = (pod for pod in view.of_role(Role.WORKER) if _overlaps(pod, first))
    return [pod for pod in ran if not (first and _was_left_alone(pod, first, timeout))]


def _was_left_alone(pod: PodView, first: datetime, timeout: timedelta) -> bool:
    """Whether this pod's launcher started too late to meet the worker that ended first.

    A launcher that was left alone waits for its whole timeout and then exits 0. A worker that
    saves the model can end equally late, so we also check when the pod started.
    """
    ended = pod.end.finished_at if pod.end and pod.state is PodState.SUCCEEDED else None
    if pod.started_at is None or ended is None or ended - first < timeout:
        return False
    return first - pod.started_at < max(timeout, timedelta(seconds=JOIN_SECONDS))


def _ended_and_gone(view: View) -> frozenset[int]:
    """Indexes of workers that succeeded, according to status, and whose pods are gone."""
    there = {pod.index for pod in view.of_role(Role.WORKER)}
    return view.completed[Role.WORKER] - there


def _overlaps(pod: PodView, moment: datetime | None) -> bool:
    """Whether the pod's trainer ran at that moment; if times are missing, whether it ran at all."""
    if not pod.has_started:
        return False
    return moment is None or pod.started_at is None or pod.started_at < moment
