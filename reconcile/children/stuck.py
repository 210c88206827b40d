"""Pods that stay Terminating because their node is lost, and their forced deletion."""

from api.objects import Raw, condition_of, parse_time
from reconcile.model.plan import Delete, ObjectReference
from reconcile.model.pods import PodView
from reconcile.model.view import View


def force_deletes(view: View) -> tuple[Delete, ...]:
    """Deletes without a grace period of pods past theirs on a node that is NotReady or gone.

    The node may still run them, and two pods may then write the same checkpoint. So the operator
    waits, and deletes nothing if it may not read nodes.
    """
    return tuple(
        Delete(ObjectReference.of(pod.raw), grace_seconds=0)
        for pod in view.all_pods
        if _is_stuck(view, pod) and _seconds_left(view, pod) <= 0
    )


def seconds_to_force_delete(view: View) -> float | None:
    """Seconds until the first pod that is stuck now is to be force-deleted, or None."""
    times = (_seconds_left(view, pod) for pod in view.all_pods if _is_stuck(view, pod))
    return min((left for left in times if left > 0), default=None)


def _is_stuck(view: View, pod: PodView) -> bool:
    nodes = view.observed.nodes
    return pod.is_deleting and nodes is not None and _is_lost(nodes.get(pod.node), pod)


def _is_lost(node: Raw | None, pod: PodView) -> bool:
    if node is None:
        return bool(pod.node)
    return condition_of(node, "Ready") is None


def _seconds_left(view: View, pod: PodView) -> float:
    """Counted from the deletion timestamp, which includes the pod's own grace period."""
    due = parse_time(pod.raw["metadata"].get("deletionTimestamp")) or view.now
    return view.settings.force_delete_after_seconds - (view.now - due).total_seconds()
