"""Decides when a job is complete: all workers have succeeded, or enough workers of an elastic job.

Servers do not count, because they never exit by themselves. Where logs are read, the end of the
first worker's is read first, so that the job can say how far its training was.
"""

from datetime import datetime, timedelta
from itertools import pairwise

from api.constants import Reason, Role
from api.job import pod_name
from api.training import MAX_STEP
from reconcile.failure.incident import Incident
from reconcile.model.end import OUT_OF_MEMORY
from reconcile.model.hold import and_more, count
from reconcile.model.move import Move, complete_job
from reconcile.model.plan import Wait
from reconcile.model.pods import PodState, PodView
from reconcile.model.view import View

READ_END_SECONDS = 20.0
"""The longest wait for the end of the log, if many jobs end at once or a node does not answer."""
SAME_END_SECONDS = 10.0
"""Workers that end this close to each other count as ending together: they save files, too."""
JOIN_SECONDS = 60.0
"""A launcher that has run for this long has had time to import Paddle and to meet its peers."""


def find_completion(view: View) -> Move | None:
    """Complete the job if every worker has succeeded, else None."""
    if view.job.spec.is_elastic:
        return _end_elastic(view)
    worker = view.job.spec.roles.get(Role.WORKER)
    if worker is None or len(view.completed[Role.WORKER]) < worker.replicas:
        return None
    return _complete(view, worker.replicas)


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
    return _complete(view, number)


def seconds_to_end_read(view: View) -> float:
    """Seconds for which a complete job waits until the end of its log is read; 0 if that is done
    or cannot be.
    """
    pod = view.pods.get(pod_name(view.job.name, Role.WORKER, 0))
    can_read = pod is not None and pod.state is PodState.SUCCEEDED and not pod.is_deleting
    is_read = view.training is not None and view.training.is_final
    if not view.settings.progress or not can_read or is_read:
        return 0.0
    return max(0.0, READ_END_SECONDS - view.observed.waited.get(Wait.END_OF_LOG, 0.0))


def _complete(view: View, number: int) -> Move:
    """The move that completes the job; with a Warning if its training is far from done."""
    step, total, unit = _last_step(view)
    where = "" if step is None else f", at {unit} {step:,}"
    where += f" of {total:,}" if where and total else ""
    # Some count epochs from 0; and who prints 0 alone has perhaps printed nothing since.
    done = step + 1 if step and unit == "epoch" else step
    is_early = bool(done and total and 2 * done < total)
    reason = Reason.ENDED_EARLY if is_early else Reason.WORKERS_SUCCEEDED
    message = f"{count(number, 'worker')} ended well{where}{_left(view)}{_killed(view)}"
    return complete_job(view, message, reason)


def _last_step(view: View) -> tuple[int | None, int | None, str]:
    """The last step and the number of steps, else of epochs; None if the log's end was not read."""
    if view.training is None or not view.training.is_final:
        return None, None, ""
    read = view.training.progress
    if read.total is None and read.epochs is not None:
        return read.epoch, read.epochs, "epoch"
    return (read.step, read.total, "step") if (read.step or 0) <= MAX_STEP else (None, None, "")


def _left(view: View) -> str:
    """Which workers ended clearly before the others; empty if none did, or that is unknown."""
    ends = sorted(
        (p.end.finished_at, p.name) for p in _succeeded(view) if p.end and p.end.finished_at
    )
    gaps = [(b[0] - a[0]).total_seconds() for a, b in pairwise(ends)]
    if max(gaps, default=0.0) < SAME_END_SECONDS:
        return ""
    first = gaps.index(max(gaps)) + 1
    names = [name.removeprefix(f"{view.job.name}-") for _, name in ends]
    left = names[0] if first == 1 else count(first, "worker")
    others = names[-1] if len(names) - first == 1 else "the others"
    return f"; {left} ended {max(gaps):.0f}s before {others}"


def _killed(view: View) -> str:
    """Which workers ended well although a process of theirs was killed for lack of memory."""
    ended = [pod for pod in _succeeded(view) if pod.end and pod.end.reason == OUT_OF_MEMORY]
    if not ended:
        return ""
    names = f"{ended[0].name}{and_more(len(ended) - 1)}"
    return f"; but a process of {names} was killed for lack of memory ({OUT_OF_MEMORY})"


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
