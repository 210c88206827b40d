"""Waits for children that are to go, and reports the ones that stay: since when, and why.

Kubelets and the garbage collector need a moment, and a pod has its grace period, so a child is only
named when it is 10 s late. A pod that stays Terminating on a lost node is force-deleted in the end.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from api.constants import FORMER_FINALIZER, Reason
from api.objects import Raw, condition_of, is_deleting, moment_of, name_of
from reconcile.model.end import MAX_GRACE_SECONDS
from reconcile.model.hold import Hold, Stop, and_more, clock_time, count, earliest
from reconcile.model.plan import Delete, ObjectReference
from reconcile.model.pods import PodView
from reconcile.model.view import View

HANG_SECONDS = 10.0
"""A child that is still there this long after it should be gone is named."""
FOREGROUND = "foregroundDeletion"
OWN_FINALIZERS = frozenset({FOREGROUND, "orphan"})
"""The garbage collector's finalizers on the job. FOREGROUND makes it delete the children first."""
LIFTED_BY = {
    "scheduling.k8s.io/podgroup-protection": "set the gates GenericWorkload and GangScheduling for "
    "the controller-manager, too",
    FORMER_FINALIZER: "run the move from paddle-operator 0.3 again, it removes the finalizer",
}
"""By finalizer: what the user must do so that it is removed."""


@dataclass(frozen=True, slots=True)
class _Leaver:
    """An object that is being deleted: since when, and when it should be gone."""

    what: str
    since: datetime
    due: datetime
    next_step: str

    def described(self) -> str:
        return f"{self.what} since {clock_time(self.since)}"


def await_leavers(view: View) -> Hold | None:
    """Wait for children of a deleted job, pods of earlier attempts, or a former job's children."""
    if view.job.is_deleting:
        return _await_children(view)
    if view.previous_pods:
        return _await_previous(view)
    former = view.observed.former_children
    return _await_former(former) if former else None


def _await_former(children: tuple[str, ...]) -> Hold:
    """Wait for the pods and ConfigMaps of a former job, by kind and name.

    A kubelet keeps an immutable ConfigMap as long as one of its pods refers to it. So a pod that
    starts while these exist would have the former job's ConfigMap all its life.
    """
    others = and_more(len(children) - 1)
    cause = f"{children[0]} of a former job of this name is still there{others}"
    return Hold(Reason.PODS_TERMINATING, cause, "the job goes on once it is gone", stops=Stop.PODS)


def _await_children(view: View) -> Hold:
    """Return a hold that names what blocks the job's deletion.

    While nothing is late yet, the hold has no reason, only a time.
    """
    leavers = list(_of_job(view))
    hanging, left = _hanging(view, leavers), _seconds_to_hang(view, leavers)
    if not hanging:
        return Hold(seconds=left)
    cause = f"waiting for {hanging[0].described()}{and_more(len(hanging) - 1)}"
    return Hold(Reason.CHILDREN_TERMINATING, cause, hanging[0].next_step, seconds=left)


def _await_previous(view: View) -> Hold:
    """Wait for the pods of earlier attempts, and name the first one that is late."""
    leavers = [_leaver(view, pod.raw) for pod in view.previous_pods if pod.is_deleting]
    cause = f"waiting for the {count(len(view.previous_pods), 'pod')} of the last attempt to go"
    next_step = "nothing to do: they are within their grace period"
    hanging = _hanging(view, leavers)
    if hanging:
        cause = f"{cause}: {hanging[0].described()}"
        next_step = hanging[0].next_step
    left = _seconds_to_hang(view, leavers)
    return Hold(Reason.PODS_TERMINATING, cause, next_step, seconds=left, stops=Stop.PODS)


def _seconds_to_hang(view: View, leavers: Iterable[_Leaver]) -> float | None:
    """Seconds until the next object is reported as stuck, or None."""
    return earliest(*(_seconds_left(view, each) for each in leavers))


def _hanging(view: View, leavers: Iterable[_Leaver]) -> list[_Leaver]:
    found = [each for each in leavers if _seconds_left(view, each) <= 0]
    return sorted(found, key=lambda each: (each.since, each.what))


def _seconds_left(view: View, leaver: _Leaver) -> float:
    return HANG_SECONDS - (view.now - leaver.due).total_seconds()


def _of_job(view: View) -> Iterator[_Leaver]:
    """The children that the deleted job waits for, or else the job itself if a finalizer blocks it.

    The garbage collector deletes children before the job only if somebody asked for that. Otherwise
    they stay as long as the job does.
    """
    seen, finalizers = view.observed, _finalizers(view.observed.job)
    children = (*seen.pods, *seen.services, *seen.config_maps, *seen.pod_groups)
    awaited = children if FOREGROUND in finalizers else ()
    yield from (_leaver(view, child) for child in awaited)
    others = [each for each in finalizers if each not in OWN_FINALIZERS]
    if others and not awaited:
        yield _build(view, "the job itself", seen.job, others)


def _leaver(view: View, child: Raw) -> _Leaver:
    node = (child.get("spec") or {}).get("nodeName")
    what = f"{child['kind']} {name_of(child)}" + (f" on {node}" if node else "")
    return _build(view, what, child, _finalizers(child))


def _build(view: View, what: str, obj: Raw, finalizers: list[str]) -> _Leaver:
    leaving = obj if is_deleting(obj) else view.observed.job
    due = moment_of(leaving["metadata"].get("deletionTimestamp")) or view.now
    seconds = leaving["metadata"].get("deletionGracePeriodSeconds") or 0
    grace = timedelta(seconds=min(seconds, MAX_GRACE_SECONDS))
    if finalizers:
        what = f"{what}, held by its finalizer {finalizers[0]}"
        next_step = LIFTED_BY.get(finalizers[0], "ask whoever put the finalizer there to remove it")
    elif not is_deleting(obj):
        what, next_step = f"{what}, not deleted", "see whether a webhook refuses its deletion"
    elif (obj.get("spec") or {}).get("nodeName"):
        next_step = "ask an administrator to check the node, or delete the pod with --force"
    else:
        next_step = "see what holds it up: kubectl get -o yaml"
    return _Leaver(what, due - grace, due, next_step)


def _finalizers(obj: Raw) -> list[str]:
    return list(obj["metadata"].get("finalizers") or ())


def force_deletes(view: View) -> tuple[Delete, ...]:
    """Force-deletes of pods that are past their grace period on a node that is NotReady or gone.

    The node perhaps still runs them, and two pods could then write the same checkpoint. So the
    operator waits first, and force-deletes nothing if it has no permission to read nodes.
    """
    due = (pod.raw for pod, left in _stuck(view) if left <= 0)
    return tuple(Delete(ObjectReference.of(raw), grace_seconds=0) for raw in due)


def seconds_to_force_delete(view: View) -> float | None:
    """Seconds until the first stuck pod is force-deleted, or None."""
    return earliest(*(left for _, left in _stuck(view)))


def _stuck(view: View) -> Iterator[tuple[PodView, float]]:
    """The pods that hang on lost nodes, and the seconds until they are force-deleted."""
    for pod in view.all_pods:
        if not pod.is_deleting or view.observed.nodes is None:
            continue
        node = view.observed.nodes.get(pod.node)
        is_lost = bool(pod.node) if node is None else condition_of(node, "Ready") is None
        if is_lost:
            # The deletion timestamp already includes the pod's grace period.
            due = moment_of(pod.raw["metadata"].get("deletionTimestamp")) or view.now
            waited = (view.now - due).total_seconds()
            yield pod, view.settings.force_delete_after_seconds - waited
