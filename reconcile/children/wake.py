"""Wakes pods that wait for the ConfigMap after it was created.

A kubelet that found a ConfigMap missing tries again after 10 to 15 s, but at once when the pod's
annotations change (`podsDifferSemantically` in its config.go). So each waiting pod gets an
annotation. As the kubelet can see the ConfigMap later than we do, a pod that still waits gets
another one. This does no harm to a pod that waits for something else, such as a Secret.

After a pod's init containers, its status says PodInitializing until the kubelet tries again, so we
cannot see that the trainer waits. Such a pod is annotated once, two seconds after its init
containers ended.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from api.constants import ANNOTATION_WOKEN
from api.objects import condition_since, format_time, parse_time
from reconcile.model.plan import ObjectReference, Patch
from reconcile.model.pods import PodView
from reconcile.model.view import View

WAITING, AFTER_INIT = "CreateContainerConfigError", "PodInitializing"
MAX_CALLS = 3
"""The most annotations of a pod. A kubelet that misses all of them soon tries again by itself."""
CALL_SECONDS = 2.0
"""The time between two annotations of a pod."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_VALUE = re.compile(r"attempt=\d+,call=(\d),at=(\S+Z)")


def wake_patches(view: View) -> tuple[Patch, ...]:
    """The patches for the pods whose annotation is due now."""
    return tuple(_call(view, pod, number) for pod, number, left in _calls(view) if left <= 0)


def seconds_to_wake(view: View) -> float | None:
    """Seconds until the next pod is woken; None if none will be."""
    return min((left or CALL_SECONDS for _, _, left in _calls(view)), default=None)


def _calls(view: View) -> Iterator[tuple[PodView, int, float]]:
    """(pod, number, seconds left) of the next annotation for each pod that still waits."""
    if view.config_map is None:
        return
    for pod in view.pods.values():
        began, calls = _wait(pod)
        count, called_at = _last_call(pod) if began else (0, None)
        since = called_at or began
        if since is not None and count < calls:
            # abs: a clock that was set back does not make the pod wait until it has caught up.
            waited = abs((view.now - since).total_seconds())
            yield pod, count + 1, max(0.0, CALL_SECONDS - waited)


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
    value = f"attempt={view.attempt},call={number},at={format_time(view.now)}"
    body = {"metadata": {"annotations": {ANNOTATION_WOKEN: value}}}
    return Patch(ObjectReference.of(pod.raw), body)
