"""The children to delete: unwanted ones of a live job, and those that cleanPodPolicy names."""

from enum import IntEnum

from api.constants import LABEL_ATTEMPT, CleanPodPolicy, Condition, Phase
from api.objects import dicts_in, labels_of, name_of
from reconcile.attempt.adoption import take_over
from reconcile.attempt.deadlines import is_time_up
from reconcile.attempt.elastic import is_recorded
from reconcile.model.plan import Delete, deletes_of
from reconcile.model.pods import PodState, PodView
from reconcile.model.view import View
from reconcile.objects.gang import find_gang
from reconcile.objects.workload import is_queued


class Stay(IntEnum):
    """Which pods of an ended job stay. Of two answers, the lesser holds."""

    NONE = 0
    ENDED = 1
    ALL = 2


STAYS: dict[CleanPodPolicy | None, tuple[Stay, Stay]] = {
    CleanPodPolicy.ALWAYS: (Stay.NONE, Stay.NONE),
    CleanPodPolicy.NEVER: (Stay.ALL, Stay.ALL),
    CleanPodPolicy.ON_FAILURE: (Stay.ALL, Stay.NONE),
    CleanPodPolicy.ON_COMPLETION: (Stay.NONE, Stay.ENDED),
    None: (Stay.ENDED, Stay.ENDED),
}
"""What stays after success, and after a failure."""


def wanted_deletes(view: View) -> tuple[Delete, ...]:
    """The children to delete now, without those that are being deleted already."""
    if view.job.is_deleting:
        return ()  # the garbage collector deletes them
    if view.job.status.is_terminal:
        return _cleanup_deletes(view)
    if view.is_inherited:
        return take_over(view).deletes
    deletes = _obsolete_deletes(view)
    if view.job.status.is_true(Condition.SUSPENDED):  # such a job holds no resources
        return deletes + deletes_of(view.observed.pod_groups)
    if view.is_adopted:
        return deletes
    gang = find_gang(view)
    if gang and gang.is_users and not view.previous_pods:
        deletes += deletes_of(view.observed.pod_groups)
    return deletes + _replaced_deletes(view)


def _obsolete_deletes(view: View) -> tuple[Delete, ...]:
    pods = view.all_pods if view.job.status.is_true(Condition.SUSPENDED) else view.obsolete
    services = (each for each in view.observed.services if name_of(each) not in view.wanted)
    attempt = str(view.attempt)
    maps = (m for m in view.observed.config_maps if labels_of(m).get(LABEL_ATTEMPT) != attempt)
    return deletes_of((*(pod.raw for pod in pods), *services, *maps))


def _replaced_deletes(view: View) -> tuple[Delete, ...]:
    """Failed workers of an elastic job whose failure is recorded in status."""
    if not view.job.spec.is_elastic:
        return ()
    failed = (pod for pod in view.pods.values() if pod.state is PodState.FAILED)
    return deletes_of(pod.raw for pod in failed if is_recorded(view, pod))


def _cleanup_deletes(view: View) -> tuple[Delete, ...]:
    """The children of an ended job that do not stay; its ConfigMaps always do.

    A Service leads to a pod that runs, so Services stay only where such pods do.
    """
    stay = _decide_stay(view)
    services = () if stay is Stay.ALL else view.observed.services
    pods = [pod for pod in view.all_pods if not _stays(view, pod, stay)]
    going = {pod.uid for pod in pods}
    # An ended job keeps its PodGroups only while kept pods still run.
    still_run = any(pod.uid not in going and not has_ended(pod) for pod in view.all_pods)
    groups = () if still_run else view.observed.pod_groups
    return deletes_of((*(pod.raw for pod in pods), *services, *groups))


def _decide_stay(view: View) -> Stay:
    if is_time_up(view):
        return Stay.NONE  # the job goes when its pods have gone and their quota is given back
    stay = STAYS[view.clean_pod_policy][view.job.status.phase == Phase.FAILED]
    has_lost_quota = view.observed.workloads_served and is_queued(view)
    return min(stay, Stay.ENDED) if has_lost_quota else stay


def _stays(view: View, pod: PodView, stay: Stay) -> bool:
    # Pods of other attempts always go. An operator that died, or whose cache lagged, left them.
    return pod.attempt == view.attempt and stay >= (Stay.ENDED if _is_over(pod) else Stay.ALL)


def has_ended(pod: PodView) -> bool:
    """Whether all containers have ended, not only the trainer: a sidecar takes resources, too."""
    return (pod.raw.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _is_over(pod: PodView) -> bool:
    """Whether the pod ends without us: its containers have ended, and none is started again.

    Its kubelet then stops native sidecars, and reports another phase only after that.
    """
    statuses = dicts_in((pod.raw.get("status") or {}).get("containerStatuses"))
    ended = all((each.get("state") or {}).get("terminated") for each in statuses)
    return has_ended(pod) or (ended and pod.state in (PodState.SUCCEEDED, PodState.FAILED))
