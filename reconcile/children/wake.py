"""Wakes pods that wait for the ConfigMap that has been created meanwhile.

A kubelet that has met a missing ConfigMap tries again after 10 to 15 s, but at once when the pod's
annotations change (`podsDifferSemantically` in its config.go). So each pod that says it waits gets
an annotation. The kubelet's own copy of the ConfigMap may come later than ours, so a pod that still
waits gets another one. A pod that waits for something else, such as a Secret, loses nothing by it.
"""

import re
from collections.abc import Iterator
from datetime import datetime

from api.constants import ANNOTATION_WOKEN
from api.objects import format_time, parse_time
from api.trainer import waiting_states
from reconcile.model.plan import ObjectReference, Patch
from reconcile.model.pods import PodView
from reconcile.model.view import View

WAITING = "CreateContainerConfigError"
MAX_CALLS = 3
"""A kubelet that misses three of them looks by itself soon after."""
CALL_SECONDS = 2.0
"""Between two calls of a pod."""
_VALUE = re.compile(r"attempt=\d+,call=(\d),at=(\S+Z)")


def wake_patches(view: View) -> tuple[Patch, ...]:
    """One annotation for each pod that is to be woken now."""
    return tuple(_call(view, pod, number) for pod, number, left in _calls(view) if left <= 0)


def seconds_to_wake(view: View) -> float | None:
    """Seconds until a pod that waits then is to be woken once more, or None."""
    return min((left or CALL_SECONDS for _, _, left in _calls(view)), default=None)


def _calls(view: View) -> Iterator[tuple[PodView, int, float]]:
    """(pod, number, seconds left) of each next call to a pod that waits though it need not."""
    if view.config_map is None:
        return
    for pod in view.pods.values():
        if pod.is_live and any(reason == WAITING for _, reason, _ in waiting_states(pod.raw)):
            count, called_at = _last_call(pod)
            # abs: a clock that was set back does not make the pod wait until it has caught up.
            waited = abs((view.now - called_at).total_seconds()) if called_at else CALL_SECONDS
            if count < MAX_CALLS:
                yield pod, count + 1, max(0.0, CALL_SECONDS - waited)


def _last_call(pod: PodView) -> tuple[int, datetime | None]:
    """How often the pod was called, and when last. A value that somebody else wrote is no call."""
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
