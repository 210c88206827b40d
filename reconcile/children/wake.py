"""Wakes pods that wait for the ConfigMap after it was created.

A kubelet that found a ConfigMap missing tries again after 10 to 15 s, but at once when the pod's
annotations change (`podsDifferSemantically` in its config.go). So each waiting pod gets an
annotation. As the kubelet can see the ConfigMap later than we do, a pod that still waits gets
another one. This does no harm to a pod that waits for something else, such as a Secret.

After a pod's init containers, its status says PodInitializing until the kubelet tries again, so we
cannot see that the trainer waits. Such a pod is annotated once, two seconds after its init
containers ended.

Worker 0 of a collective job gets a head start. Its trainer has the store in which all meet, and a
peer that connects before that listens tries again only after 3 s (`kDelay` in PaddlePaddle's
tcp_utils.h). So the peers are annotated once worker 0 has run for a moment, or else a moment after
it is annotated again: perhaps its kubelet saw the ConfigMap too late the first time. By then their
kubelets have checked them since the failed start, and start them at once. The more peers, the surer
that one of them is quicker than worker 0, so the moment is longer.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from api.constants import ANNOTATION_WOKEN, Role
from api.job import pod_name
from api.objects import condition_since, format_micro_time, parse_time
from reconcile.model.plan import ObjectReference, Patch, Wait
from reconcile.model.pods import PodState, PodView
from reconcile.model.view import View

WAITING, AFTER_INIT = "CreateContainerConfigError", "PodInitializing"
MAX_CALLS = 3
"""The most annotations of a pod. A kubelet that misses all of them soon tries again by itself."""
CALL_SECONDS = 2.0
"""The time between two annotations of a pod."""
HEAD_START_SECONDS = 0.2
"""For how long worker 0 runs alone, for each peer."""
MAX_HEAD_START_SECONDS = 1.0
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_VALUE = re.compile(r"attempt=\d+,call=(\d),at=(\S+Z)")


def wake_patches(view: View) -> tuple[Patch, ...]:
    """The patches for the pods whose annotation is due now."""
    return tuple(_call(view, pod, number) for pod, number, left in _calls(view) if left <= 0)


def next_wake(view: View) -> tuple[float | None, frozenset[Wait]]:
    """Seconds until the next pod is woken, None if none will be; and whether worker 0 is ahead."""
    seconds = min((left or _next_try(view) for _, _, left in _calls(view)), default=None)
    first = _first(view)
    is_ahead = first is not None and first.state is PodState.RUNNING and not view.all_run
    return seconds, frozenset({Wait.HEAD_START} if is_ahead else ())


def _calls(view: View) -> Iterator[tuple[PodView, int, float]]:
    """(pod, number, seconds left) of the next annotation for each pod that still waits."""
    if view.config_map is None:
        return
    first, ahead = _first(view), _head_start(view)
    for pod in view.pods.values():
        number, left, most = _next_call(view, pod)
        if number <= most:
            is_behind = number == 1 and pod is not first
            yield pod, number, max(left, ahead) if is_behind else left


def _head_start(view: View) -> float:
    """Seconds from now for which worker 0 of a collective job is woken alone.

    0 if it does not wait and does not run, as when it pulls its image or is being deleted.
    """
    first = _first(view)
    if first is None or not view.job.spec.has_workers_only:
        return 0.0
    moment = min(HEAD_START_SECONDS * (len(view.wanted) - 1), MAX_HEAD_START_SECONDS)
    if first.state is PodState.RUNNING:
        begins = -view.observed.waited.get(Wait.HEAD_START, 0.0)
    else:
        number, left, most = _next_call(view, first)
        times = {1: left + _next_try(view), 2: left, 3: left - CALL_SECONDS} if most else {}
        begins = times.get(number, -moment)
    # Rounded, because a tiny remainder of a float would cost one more pass.
    return max(0.0, round(begins + moment, 3))


def _next_try(view: View) -> float:
    """Seconds from an annotation to the next one, also if this one is refused."""
    return max(CALL_SECONDS, view.pause_seconds)


def _first(view: View) -> PodView | None:
    return view.pods.get(pod_name(view.job.name, Role.WORKER, 0))


def _next_call(view: View, pod: PodView) -> tuple[int, float, int]:
    """The pod's next annotation: its number, the seconds left, and how many it gets at most."""
    began, most = _wait(pod)
    if began is None:
        return 1, 0.0, 0
    count, called_at = _last_call(pod)
    # abs: a clock that was set back does not make the pod wait until it has caught up.
    waited = abs((view.now - (called_at or began)).total_seconds())
    return count + 1, max(0.0, CALL_SECONDS - waited), most


def _wait(pod: PodView) -> tuple[datetime | None, int]:
    """When the pod began to wait, or None if it does not wait; and how often to annotate it."""
    reasons = {wait.state for wait in pod.waits} if pod.is_live else set()
    if WAITING in reasons:
        return _LONG_AGO, MAX_CALLS
    return condition_since(pod.raw, "Initialized") if AFTER_INIT in reasons else None, 1


def _last_call(pod: PodView) -> tuple[int, datetime | None]:
    """How often the pod was annotated, and when last. Ignores a value that somebody else wrote."""
    value = (pod.raw["metadata"].get("annotations") or {}).get(ANNOTATION_WOKEN, "")
    match = _VALUE.fullmatch(value)
    try:
        return (int(match[1]), parse_time(match[2])) if match else (0, None)
    except ValueError:
        return 0, None


def _call(view: View, pod: PodView, number: int) -> Patch:
    value = f"attempt={view.attempt},call={number},at={format_micro_time(view.now)}"
    body = {"metadata": {"annotations": {ANNOTATION_WOKEN: value}}}
    return Patch(ObjectReference.of(pod.raw), body)
